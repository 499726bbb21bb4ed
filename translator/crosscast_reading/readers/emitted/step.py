"""Emitted scripts: number formats, loss scale, clipping, average of the weights."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.readers.emitted.optimizer import exempt
from crosscast_reading.readers.emitted.script import Script

_MASTERS = ("make_masters", "copy_masters", "HalfWeights", "collect_gradients")
"""Functions of scripts with half weights, or with half copies of those of some layers."""
_COPIED = "COPIED"
"""Constant of a script with half copies of the weights of some layers."""
_CASTS = (
    r"cuda\.amp\.autocast\((?:dtype=torch\.(\w+))?\)",
    r"autocast\([^()]*dtype=torch\.(float16|bfloat16)",
    r"auto_cast\([^()]*dtype='(float16|bfloat16)'",
    r"auto_cast\(()",
    r"strategy\.amp = True()",
    r"\.to\(torch\.(float16|bfloat16)\)",
    r"tf\.cast\(\w+(?:\(.*\))?, tf\.(float16|bfloat16)\)",
    r"mixed_(float16|bfloat16)'",
    r"astype\('(float16|bfloat16)'\)",
)
"""Patterns that name the half type of a script, most reliable first."""
_SCALING = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
"""Fields that are upper-case constants of a script."""


def step(script: Script, read: Sequence[Fact], backend: str) -> Iterator[Fact]:
    """Yield the facts about the step itself.

    Args:
        script: The script.
        read: What was read of it before.
        backend: The backend that printed it; empty for none.
    """
    before = list(_precision(script))
    yield from before
    yield from _operations(script, [*read, *before, *_recomputes(script)], backend)
    yield from _scaling(script)
    yield from _clipping(script)
    yield from script.constant("ema.decay", "EMA_DECAY")
    yield from _recomputes(script)
    tf32 = script.constants.get("SETTINGS.tf32", False)
    yield script.fact("precision.tf32", tf32, "SETTINGS.tf32", "SETTINGS")


def _recomputes(script: Script) -> Iterator[Fact]:
    marks = r"checkpoint\(|recompute|\.checkpoint\b|@nnx\.remat\s+def __call__"
    again = re.search(marks, _model_text(script))
    yield script.fact("activation_checkpointing", bool(again), "forward")


def _model_text(script: Script) -> str:
    """Return the text of the model's classes."""
    return "\n".join(t for t in script.functions.values() if t.lstrip("@").startswith("class"))


def _precision(script: Script) -> Iterator[Fact]:
    named = _half_type(script)
    # Gradients are scaled only for float16, even if no operation computes in it.
    scaled = not {"LOSS_SCALE", "INIT_SCALE"}.isdisjoint(script.constants)
    dtype = named or ("float16" if scaled else "float32")
    policy = script.constants.get("DTYPE_POLICY", "")
    masters = any(name in script.functions for name in _MASTERS)
    full = policy in HALVES or (masters and not _copies(script)) or _full_jax(script)
    mode = "none" if dtype == "float32" else "full" if full else "mixed"
    yield script.fact("precision.mode", mode, "train_window", "DTYPE_POLICY")
    yield script.fact("precision.compute_dtype", dtype, "train_window", "DTYPE_POLICY")
    if full:
        kept = "float32" if _sums_in_float32(script) else "compute"
        yield script.fact("accumulation.dtype", kept, "train_window")


def _full_jax(script: Script) -> bool:
    """Whether a script for JAX computes with half weights.

    One with a model of a user does so in mixed precision, too, unless it adds up in half.
    """
    if "half_copies" not in script.functions:
        return False
    return "BertClassifier" in script.functions or not _sums_in_float32(script)


def _copies(script: Script) -> bool:
    return _COPIED in script.text("make_masters", "half_copy")


def _operations(script: Script, read: Sequence[Fact], backend: str) -> Iterator[Fact]:
    """Yield the facts about types of operations and about attention."""
    from crosscast_reading.readers.emitted.operation_types import operation_types

    fields = {fact.field.removeprefix("recipe."): fact.value for fact in read}
    printed = operation_types(script, backend, fields) if backend else None
    if printed is not None:
        for path, value in printed.items():
            name = path.rpartition(".")[2].upper()
            yield script.fact(path, value, name, "train_window")
        return
    if fields.get("model.kind") == "bert" and fields["precision.mode"] != "none":
        unknown = script.fact("precision.ops", None, "BertClassifier", "train_window")
        yield replace(unknown, known=False, reason="no recipe prints this model; was it edited?")


def _sums_in_float32(script: Script) -> bool:
    """Whether the gradients of half weights are accumulated in float32."""
    if sums := script.text("empty_sums"):  # of JAX
        return "half_copies(" not in sums
    micro = script.text("micro_step", "make_gradients", "TrainState")
    if "DTYPE_POLICY" in script.constants:
        return "tf.cast(gradient, tf.float32)" in micro
    added = script.text("train_window").partition("window_loss += ")
    return not re.search(r"last|n_micro - 1|\n    collect_gradients\(", added[2])


def _half_type(script: Script) -> str:
    """Return the half type that the script names, empty if it names none."""
    text, policy = script.all_text(), script.constants.get("DTYPE_POLICY")
    if isinstance(policy, str) and policy != "float32":
        return policy.removeprefix("mixed_")
    if "enable_mixed_precision_graph_rewrite" in text:
        return "float16"
    types = script.constants.get("TYPES") or {
        name: script.constants.get(name)
        for name in ("HALF", "MATMUL", "POINTWISE", "REDUCTIONS", "EMBEDDINGS")
    }
    if explicit := [t for t in types.values() if t in HALVES]:
        return str(explicit[0])
    if script.constants.get("SETTINGS.half") in HALVES:
        return str(script.constants["SETTINGS.half"])
    for pattern in _CASTS:
        if cast := re.search(pattern, text):
            return cast.group(1) or "float16"
    return ""


def _scaling(script: Script) -> Iterator[Fact]:
    constants = script.constants
    if "LOSS_SCALE" in constants:
        yield script.fact("loss_scaling.mode", "static", "LOSS_SCALE")
        yield from script.constant("loss_scaling.scale", "LOSS_SCALE")
        return
    if "INIT_SCALE" not in constants:
        yield script.fact("loss_scaling.mode", "none", "train_window")
        return
    yield script.fact("loss_scaling.mode", "dynamic", "INIT_SCALE")
    for name in _SCALING:
        yield from script.constant(f"loss_scaling.{name}", name.upper())
    yield script.fact("loss_scaling.min_scale", constants.get("MIN_SCALE"), "MIN_SCALE")
    yield script.fact("loss_scaling.hysteresis", constants.get("HYSTERESIS", 1), "HYSTERESIS")
    cumulative = "self.good = self.bad = 0" in script.text("LossScale")
    mode = "cumulative" if cumulative else "consecutive"
    yield script.fact("loss_scaling.hysteresis_mode", mode, "LossScale")
    highest = constants.get("MAX_SCALE", math.inf)
    limit = None if math.isinf(highest) else highest
    yield script.fact("loss_scaling.max_scale", limit, "MAX_SCALE", "INIT_SCALE")


def _clipping(script: Script) -> Iterator[Fact]:
    if "MAX_VALUE" in script.constants:
        yield script.fact("clipping.kind", "value", "MAX_VALUE")
        yield from script.constant("clipping.max_value", "MAX_VALUE")
    elif "MAX_NORM" in script.constants:
        text = script.text("train_window", "window_step", "clip_gradients", "clipped_gradients")
        each = re.search(
            r"clip_grad_norm_\(parameter,|\bnorm = parameter\.grad|\bnorms = \[tf\.norm"
            r"|\bshortened\b",
            text,
        )
        kind = "per_param_norm" if each else "global_norm"
        yield script.fact("clipping.kind", kind, "MAX_NORM")
        yield from script.constant("clipping.max_norm", "MAX_NORM")
        stock = "clip_grad_norm_(" in text and "CLIP_EPS" not in script.constants
        eps = script.constants.get("CLIP_EPS", 1e-6 if stock else 0.0)
        yield script.fact("clipping.eps", float(eps), "CLIP_EPS", "train_window")
    else:
        yield script.fact("clipping.kind", "none", "train_window")
        return
    yield script.fact("clipping.exempt", exempt(script), "clips")
