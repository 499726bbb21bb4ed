"""Recipe to TensorFlow: the canonical Plan and the view its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast import plan as ops
from crosscast.canonical import canonical_plan
from crosscast.emit import py_literal
from crosscast.lowering import clip_constants, factory, print_ops, shared_view
from crosscast.recipe import Recipe, Sgd
from crosscast.target import File, Form, Lowered
from crosscast_tensorflow.overrides import TensorflowOverrides

TITLE = "TensorFlow 2.16 or newer (Keras 3)"

# The Plan is printed into three functions; these operations are where two of them end.
_TAPE = (ops.Autocast, ops.Normalize, ops.Scale)
_GRAPH = (ops.Unscale, ops.CheckFinite, ops.Clip, ops.Step)

# A bias of a layer normalization is both, as in the other frameworks.
_ROLE_NAMES = {
    "bias": ("bias", "beta"),
    "layer_norm": ("gamma", "beta"),
    "embedding": ("embeddings",),
}


def lower(recipe: Recipe, templates: Path, form: Form) -> Lowered:
    """Return plan and files of a recipe for TensorFlow."""
    overrides = TensorflowOverrides.model_validate(recipe.overrides.get("tensorflow", {}))
    plan = canonical_plan(recipe)
    view = shared_view(recipe, plan, TITLE, form)
    policy = _policy(recipe)
    view |= {
        "machine": view["dynamic"],
        "contextlib": False,
        "own_norm": False,
        "clip_constants": clip_constants(recipe, with_eps=True),
        "math": recipe.schedule.name == "cosine" or view["dynamic"],
        "policy": policy,
        "decorator": _decorator(overrides),
        "optimizer": _optimizer(recipe),
        "factory": None if view["bert"] else factory(recipe, "tensorflow"),
        "inputs": "**inputs" if view["bert"] else "inputs",
        "output": f"runs/{recipe.name}-tensorflow",
        "reseed": "reseed(state)" if view["has_dropout"] else "",
        "flags": "",
    }
    if form == "step":
        advice = f'Call keras.config.set_dtype_policy("{policy}") before you build the model.'
        view["header"] = (*view["header"], advice)
    normalize = plan.find(ops.Normalize)
    assert normalize is not None  # every canonical plan has one
    view["divisor"] = _divisor(normalize)
    if not normalize.renormalize:
        view["clip_constants"] = (*view["clip_constants"], f"FULL_WINDOW = {normalize.full}")
    arguments = ["state", "loss_fn", "batch", "divisor", *(["scale_tensor"] if view["scaled"] else [])]
    view["micro_arguments"] = ", ".join(arguments)
    view |= _code(plan, templates, view)
    return Lowered(plan=plan, files=_files(view, form))


def _code(plan: ops.Plan, templates: Path, view: Mapping[str, Any]) -> dict[str, str]:
    """Print the operations: below the tape, after it, in the compiled step, after that."""

    def text(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "tensorflow/ops", part, lambda op: _values(op, view), by)

    return {
        "tape_code": text(tuple(op for op in plan.micro if isinstance(op, _TAPE)), 8),
        "micro_code": text(tuple(op for op in plan.micro if not isinstance(op, _TAPE)), 4),
        "graph_code": text(tuple(op for op in plan.window if isinstance(op, _GRAPH)), 4),
        "host_code": text(tuple(op for op in plan.window if not isinstance(op, _GRAPH)), 4),
    }


def _policy(recipe: Recipe) -> str:
    if recipe.precision.mode == "mixed":
        return f"mixed_{recipe.precision.compute_dtype}"
    return "float32"


def _decorator(overrides: TensorflowOverrides) -> str:
    if overrides.jit_compile:
        return "@tf.function(reduce_retracing=True, jit_compile=True)"
    return "@tf.function(reduce_retracing=True)"


def _divisor(op: ops.Normalize) -> str:
    if not op.renormalize:
        return "FULL_WINDOW"
    return "rows" if op.unit == "sample" else "n_micro"


def _optimizer(recipe: Recipe) -> dict[str, Any]:
    optimizer = recipe.optimizer
    decoupled = optimizer.name == "adamw"
    coupled = not decoupled and optimizer.weight_decay > 0
    decays = decoupled or coupled
    roles = _role_names(optimizer.no_decay) if optimizer.weight_decay else ()
    decay = "Decoupled" if decoupled else "Coupled (L2)"
    where = "where `decays` says so" if roles else "on every parameter"
    doc = f"{decay} weight decay {where}." if optimizer.weight_decay else "No weight decay."
    values: dict[str, Any]
    if isinstance(optimizer, Sgd):
        form = "momentum" if optimizer.momentum else "sgd"
        values = {"momentum": optimizer.momentum} if optimizer.momentum else {}
        cls = "Momentum" if optimizer.momentum else "keras.optimizers.SGD"
        kind = "SGD with Nesterov momentum" if optimizer.nesterov else "SGD with momentum"
        slots = ("momentum_buffer",) if optimizer.momentum else ()
    else:
        form = "adam"
        values = {"betas": optimizer.betas, "eps": optimizer.eps}
        cls = kind = "AdamW" if decoupled else "Adam"
        slots = ("exp_avg", "exp_avg_sq")
    lines = [f"{name.upper()} = {py_literal(value)}" for name, value in values.items()]
    if decays:
        lines.append(f"WEIGHT_DECAY = {optimizer.weight_decay!r}")
    return {
        "form": form,
        "cls": cls,
        "kind": kind if form != "sgd" else "SGD",
        "doc": doc,
        "call": f"{cls}(LEARNING_RATE{', weight_decay=WEIGHT_DECAY' if decoupled else ''})",
        "constants": tuple(lines),
        "roles": roles,
        "coupled": coupled,
        "excludes": decoupled and bool(roles),
        "direction": "gradient + MOMENTUM * buffer" if _nesterov(recipe) else "buffer.value",
        "slots": slots,
    }
