"""Table of alternative values for every field that affects the training.

`variations` returns recipes with these values. It has two uses: a run exercises a field only if
other values would have failed (`exercise`), and a script that deviates from its recipe may follow
one of these recipes (`bisect.script`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import (
    Change,
    Data,
    Flip,
    Groups,
    Plus,
    Roles,
    Times,
    To,
    Weights,
    built,
    changed,
    value_at,
)
from crosscast.variations.companions import NEVER_ALONE, SECTIONS, follow_up

OP_TYPES = To(("half", "float32", "float32_stored_half"))

TABLE: tuple[tuple[str, tuple[Change, ...]], ...] = (
    ("optimizer.name", (To(("adam", "adamw", "sgd", "lamb", "lion", "adafactor")),)),
    ("optimizer.learning_rate", (Times((2.0, 0.5, 10.0, 0.1)),)),
    ("optimizer.weight_decay", (To((0.0,)), Times((2.0, 0.5, 0.1)), To((0.01, 0.1)))),
    ("optimizer.no_decay", (Roles(),)),
    ("optimizer.groups", (Groups(),)),
    ("optimizer.betas.0", (To((0.95, 0.9, 0.8)),)),
    ("optimizer.betas.1", (To((0.98, 0.95, 0.999, 0.99, 0.9999)),)),
    ("optimizer.eps", (Times((100.0, 10.0, 0.01, 1e4)), To((1e-8, 1e-7, 1e-6)))),
    ("optimizer.eps.0", (Times((100.0, 0.01, 1e4)),)),
    ("optimizer.eps.1", (Times((10.0, 0.1, 100.0)),)),
    ("optimizer.eps_placement", (To(("after_correction", "before_correction")),)),
    ("optimizer.bias_correction", (Flip(),)),
    ("optimizer.momentum", (To((0.0, 0.9, 0.95, 0.99)),)),
    ("optimizer.nesterov", (Flip(),)),
    ("optimizer.rate_in_momentum", (Flip(),)),
    ("optimizer.always_adapt", (Flip(),)),
    ("optimizer.beta2_decay", (To((-0.8, -0.5, -1.0)),)),
    ("optimizer.clip_threshold", (To((1.0, 2.0, 10.0)), Times((0.5,)))),
    ("clipping.kind", (To(("none", "global_norm", "per_param_norm", "value")),)),
    ("clipping.max_norm", (Times((2.0, 0.5, 10.0)),)),
    ("clipping.max_value", (Times((2.0, 0.5, 10.0)),)),
    ("clipping.eps", (To((0.0, 1e-6)), Times((1000.0,)), To((1e-3,)))),
    ("clipping.exempt", (Roles(),)),
    ("schedule.name", (To(("linear", "cosine", "constant", "polynomial", "inverse_sqrt")),)),
    ("schedule.warmup_steps", (Plus((1, -1)), To((0,)), Times((2.0, 0.5, 4.0, 0.25)))),
    ("schedule.warmup_start_lr", (To((0.0, 1e-6, 1e-5)), Times((2.0, 0.5)))),
    ("schedule.total_steps", (Times((2.0, 0.5)), Plus((1, -1)))),
    ("schedule.end_lr", (To((0.0, 1e-6, 1e-5)), Times((2.0, 0.1)))),
    ("schedule.power", (To((1.0, 2.0, 0.5)),)),
    ("schedule.decay_from", (To(("warmup_end", "start")),)),
    ("schedule.tick", (To(("update", "attempt")),)),
    ("loss_scaling.mode", (To(("static", "none", "dynamic")),)),
    ("loss_scaling.init_scale", (Times((2.0, 0.5, 4.0, 0.25)), To((65536.0, 32768.0)))),
    ("loss_scaling.scale", (Times((2.0, 0.5, 4.0)),)),
    ("loss_scaling.growth_factor", (Times((2.0, 4.0)), To((2.0,)), Times((0.75,)))),
    ("loss_scaling.backoff_factor", (Times((0.5, 0.25)), To((0.5, 0.8, 0.95)))),
    ("loss_scaling.growth_interval", (Plus((1, -1)), Times((2.0, 0.5)), To((2000, 1000)))),
    ("loss_scaling.hysteresis", (Plus((1, -1)), To((1, 2)))),
    ("loss_scaling.hysteresis_mode", (To(("consecutive", "cumulative")),)),
    ("loss_scaling.min_scale", (Times((2.0, 0.5)), To((1.0, 2.0**-14)))),
    ("loss_scaling.max_scale", (Times((2.0, 0.5, 0.999)), To((None, 65536.0)))),
    ("accumulation.steps", (Times((2.0, 0.5)), Plus((1, -1)))),
    ("accumulation.normalize_by", (To(("sample", "microbatch", "token")),)),
    ("accumulation.tail", (To(("flush_renormalized", "flush", "drop", "carry")),)),
    ("accumulation.dtype", (To(("float32", "compute")),)),
    ("batch.micro_batch_size", (Times((2.0, 0.5)), Plus((1, -1)))),
    ("precision.mode", (To(("none", "mixed", "full")),)),
    ("precision.compute_dtype", (To(("float32", "float16", "bfloat16")),)),
    ("precision.ops.matmul", (OP_TYPES,)),
    ("precision.ops.pointwise", (OP_TYPES,)),
    ("precision.ops.reductions", (OP_TYPES,)),
    ("precision.ops.embeddings", (OP_TYPES,)),
    ("precision.ops.losses", (OP_TYPES,)),
    ("precision.ops.residual", (To(("half", "float32")),)),
    ("model.attention", (To(("fused", "explicit")),)),
    ("precision.tf32", (Flip(),)),
    ("ema.decay", (To((None, 0.0, 0.9, 0.99, 0.999)),)),
    ("activation_checkpointing", (Flip(),)),
    ("seed", (Plus((1,)),)),
    ("data.shuffle", (Flip(),)),
    ("data.train_rows", (Plus((-1, 1)), Times((2.0,)))),
    ("model.dropout", (To((0.0, 0.1)),)),
    ("model.layer_norm_eps", (To((1e-12, 1e-5, 1e-3)),)),
    ("model.attention_heads", (Times((2.0, 0.5)),)),
    ("model.init_std", (Times((2.0,)),)),
    ("loss.label_smoothing", (To((0.0, 0.1)), Times((2.0, 0.5)))),
    ("loss.class_weights", (Weights(),)),
)

PATHS = dict(TABLE).keys()
"""All fields of the table."""
UNFIT = ("precision.", "accumulation.dtype", "loss_scaling.mode")
"""Fields in which scripts can deviate in ways that no valid recipe describes."""


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """A recipe with another value in one field.

    `also`: required changes, such as another global batch size with another micro-batch size.
    `fits`: whether the recipe is valid. A script can deviate in a way that no valid recipe
    describes, such as bfloat16 with loss scaling; such a variation is used only for checks.
    """

    path: str
    value: Any
    recipe: Recipe
    fits: bool = True
    also: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{shown_path(self.path)}: {shown(self.value)}"

    @property
    def changes(self) -> Mapping[str, Any]:
        """All values that differ, by path."""
        return {self.path: self.value, **self.also}


def shown_path(path: str) -> str:
    """Return a path in display form: `optimizer.betas[1]`."""
    head, _, last = path.rpartition(".")
    return f"{head}[{last}]" if last.isdigit() else path


def shown(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {shown(part)}' for key, part in value.items())}}}"
    return str(value)


def paths_of(recipe: Recipe) -> list[str]:
    """Return the fields of this recipe that are in the table."""
    data = recipe.model_dump()
    return [path for path in PATHS if _is_there(data, path)]


def has_path(recipe: Recipe, path: str) -> bool:
    """Whether a field is in the table and in this recipe."""
    return path in PATHS and _is_there(recipe.model_dump(), path)


def _is_there(data: Data, path: str) -> bool:
    try:
        value = value_at(data, path)
    except (KeyError, ValueError):
        return False
    return not (isinstance(value, tuple) and path == "optimizer.eps")


def variations(recipe: Recipe, path: str = "", *, unfit: bool = False) -> Iterator[Variation]:
    """Yield the recipes that differ from this one in a single field.

    Args:
        recipe: The recipe to vary.
        path: The only field to vary; empty for all.
        unfit: Also yield invalid recipes (see `Variation.fits`).
    """
    data = recipe.model_dump()
    table = dict(TABLE)
    for varied in [path] if path else paths_of(recipe):
        seen = [value_at(data, varied)]
        for change in table[varied]:
            for value in change.values(seen[0]):
                if any(same(value, known) for known in seen):
                    continue
                seen.append(value)
                yield from _variation(data, varied, value, unfit)


def vary(recipe: Recipe, path: str, value: Any, *, unfit: bool = False) -> Variation | None:
    """Return the recipe with a value in a field, or None if it is not allowed."""
    data = recipe.model_dump()
    if same(value_at(data, path), value):
        return None
    return next(_variation(data, path, value, unfit), None)


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of the same type."""
    return type(left) is type(right) and bool(left == right)


def _variation(data: Data, path: str, value: Any, unfit: bool) -> Iterator[Variation]:
    """Yield the recipe with only this value if valid, otherwise with the required changes."""
    attempts: list[Data] = [{}, follow_up(data, path, value)]
    if path in NEVER_ALONE:
        attempts = attempts[1:]
    last: Variation | None = None
    for also in attempts:
        result = built(changed(data, {path: value, **also} if path not in SECTIONS else also))
        if result is None:
            continue
        recipe, fits = result
        if fits:
            yield Variation(path, value, recipe, also=also)
            break
        last = last or Variation(path, value, recipe, fits=False, also=also)
    if unfit and last is not None and path.startswith(UNFIT):
        yield last
