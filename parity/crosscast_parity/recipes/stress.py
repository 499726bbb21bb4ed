"""A recipe that exercises everything a recipe has.

Kinds stay, magnitudes change: the same optimizer, precision, clipping, schedule and bookkeeping of
the loss scale, but decay that shows, a clipping that is active, a scale that grows and backs off
within the run, a warm-up within it, and a short last window with a short last micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.recipe.document import (
    Adafactor,
    Adam,
    AdamW,
    GlobalNormClipping,
    Lamb,
    PerParamNormClipping,
    Recipe,
    SyntheticData,
    ValueClipping,
)
from crosscast.variations.table import shown, shown_path
from crosscast_parity.recipes.derived import TINY_MODEL, bert_of, changed, comparable, tiny_loss
from crosscast_parity.recipes.stress_scale import WINDOWS, scale_changes

WARMUP = 20
MICRO_BATCH = 4
STEPS = 4
TOKENS = 24
WHOLE_WINDOWS = 3
"""Full windows of an epoch before the short one, which so lies among those that are recorded."""
EVAL_ROWS = 256
DECAY = 0.1
AVERAGE = 0.9

RATES = {"sgd": 0.1, "adam": 1e-3, "adamw": 1e-3, "lamb": 1e-2, "lion": 1e-4, "adafactor": 1e-2}
"""Learning rates at which the tiny model learns without chaos."""
END = 0.1
"""Share of the learning rate at the end of a schedule that does not fall to 0."""
SLOWEST = {"lion": 0.99}
"""Largest second beta. That of Lion is of its momentum, which must come to outweigh a gradient."""
EPS = 1e-6
EPS_ADAFACTOR = (1e-3, 0.05)
"""Smallest epsilons where weights are frozen; those of Adafactor for gradients and weights."""

MAX_NORM = 0.35
MAX_NORM_EACH = 0.05
MAX_VALUE = 1e-3
EPS_CLIPPED = 10 * MAX_VALUE**2
"""Epsilon of Adafactor for gradients clipped by value: a larger one would hide their squares."""


def stress_recipe(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return a recipe that exercises every feature of this one, and what was changed, in words.

    Raises:
        DiagnosticError: CC704 for a model that the harness cannot run.
    """
    bert_of(recipe)
    single, _ = comparable(recipe)
    sections = {
        "model": {**single.model.model_dump(), **TINY_MODEL, "max_positions": 32},
        "data": _data(single).model_dump(),
        **tiny_loss(single),
    }
    stressed = changed(single, {**sections, **dict(_changes(single))})
    stressed = changed(stressed, dict(scale_changes(stressed)))
    return stressed, tuple(_differences(recipe.model_dump(), stressed.model_dump(), ""))


def _data(recipe: Recipe) -> SyntheticData:
    window = MICRO_BATCH * _steps(recipe)
    short = window // 2 + MICRO_BATCH // 2
    return SyntheticData(
        source="synthetic",
        sequence_length=TOKENS,
        train_rows=WHOLE_WINDOWS * window + (short if short < window else window // 2),
        eval_rows=EVAL_ROWS,
        shuffle=recipe.data.shuffle,
    )


def _steps(recipe: Recipe) -> int:
    """Without accumulation there stays none: that may be another code path."""
    return STEPS if recipe.accumulation.steps > 1 else 1


def _changes(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    steps = _steps(recipe)
    yield "batch.micro_batch_size", MICRO_BATCH
    yield "batch.global_batch_size", MICRO_BATCH * steps
    yield "accumulation.steps", steps
    yield from _optimizer(recipe)
    yield from _clipping(recipe)
    yield from _schedule(recipe)
    if recipe.ema.decay:
        yield "ema.decay", AVERAGE


def _optimizer(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    optimizer = recipe.optimizer
    yield "optimizer.learning_rate", RATES[optimizer.name]
    if optimizer.weight_decay:
        yield "optimizer.weight_decay", DECAY
    if isinstance(optimizer, Adafactor):
        yield "optimizer.clip_threshold", 1.0
    yield from _epsilons(recipe)
    betas = getattr(optimizer, "betas", None)
    if betas is not None:
        slowest = SLOWEST.get(optimizer.name, 0.999)
        yield "optimizer.betas", (min(betas[0], 0.9), min(betas[1], slowest))


def _epsilons(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """The usual epsilons show only in biases, which may be frozen; larger ones in all weights."""
    optimizer = recipe.optimizer
    frozen = any(group.rate_factor == 0 for group in optimizer.groups)
    if isinstance(optimizer, Adafactor):
        smallest = EPS_ADAFACTOR if frozen else (0.0, 0.0)
        of_gradients, of_weights = map(max, zip(optimizer.eps, smallest, strict=True))
        if isinstance(recipe.clipping, ValueClipping):
            of_gradients = min(of_gradients, EPS_CLIPPED)
        yield "optimizer.eps", (of_gradients, of_weights)
    elif frozen and isinstance(optimizer, Adam | AdamW | Lamb):
        yield "optimizer.eps", max(optimizer.eps, EPS)


def _clipping(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    clipping = recipe.clipping
    if isinstance(clipping, GlobalNormClipping):
        yield "clipping.max_norm", MAX_NORM
    elif isinstance(clipping, PerParamNormClipping):
        yield "clipping.max_norm", MAX_NORM_EACH
    elif isinstance(clipping, ValueClipping):
        yield "clipping.max_value", MAX_VALUE


def _schedule(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    schedule = recipe.schedule
    yield "schedule.total_steps", WINDOWS
    if schedule.warmup_steps:
        yield "schedule.warmup_steps", WARMUP
    for name in ("warmup_start_lr", "end_lr"):
        if getattr(schedule, name):
            yield f"schedule.{name}", END * RATES[recipe.optimizer.name]


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the fields that differ; sections of another kind as a whole."""
    for name, value in new.items():
        place = f"{path}.{name}" if path else name
        if name not in old:
            yield f"{shown_path(place)}: {shown(value)}"
        elif isinstance(value, Mapping) and isinstance(old[name], Mapping):
            yield from _differences(old[name], value, place)
        elif old[name] != value:
            yield f"{shown_path(place)}: {shown(old[name])} became {shown(value)}"
