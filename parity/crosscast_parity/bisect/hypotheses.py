"""Values to try that are suggested by the records, such as scales and rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Schedule
from crosscast.recipe.document import DynamicLossScaling, Recipe
from crosscast.variations.table import Variation, paths_of, vary
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.levels.machine import replay
from crosscast_parity.recordings.trace import TraceRow

Suggestion = tuple[str, Any]
WARM = 4
"""Windows whose rates a warm-up is read off."""


def hypotheses(recipe: Recipe, runs: Sequence[RecordedRun]) -> list[Variation]:
    """Return variations with values that were read off the traces, each once."""
    known = set(paths_of(recipe))
    variations: list[Variation] = []
    for path, value in dict.fromkeys(_suggestions(recipe, runs)):
        varied = vary(recipe, path, value) if path in known else None
        if varied is not None:
            variations.append(varied)
    return variations


def _suggestions(recipe: Recipe, runs: Sequence[RecordedRun]) -> Iterator[Suggestion]:
    for recorded_run in runs:
        if recorded_run.recipe.loss_scaling == recipe.loss_scaling:
            yield from _scales(recorded_run.rows)
        yield from _rates(recorded_run)
        if isinstance(recipe.loss_scaling, DynamicLossScaling):
            yield from _counters(recorded_run.rows)


def _scales(rows: Sequence[TraceRow]) -> Iterator[Suggestion]:
    if not rows:
        return
    yield "loss_scaling.init_scale", rows[0].scale
    yield "loss_scaling.scale", rows[0].scale
    ratios = {b.scale / a.scale for a, b in pairwise(rows) if a.scale > 0}
    yield from (("loss_scaling.growth_factor", _rounded(r)) for r in sorted(ratios) if r > 1)
    yield from (("loss_scaling.backoff_factor", _rounded(r)) for r in sorted(ratios) if r < 1)
    yield "loss_scaling.min_scale", min(row.scale for row in rows)
    yield "loss_scaling.max_scale", max(row.scale for row in rows)


def _counters(rows: Sequence[TraceRow]) -> Iterator[Suggestion]:
    """How many clean windows came before each growth, how many overflows before each back-off."""
    clean = overflows = 0
    for row, after in pairwise(rows):
        clean, overflows = (0, overflows + 1) if row.skipped else (clean + 1, 0)
        if after.scale > row.scale:
            yield "loss_scaling.growth_interval", clean
            clean = 0
        if after.scale < row.scale:
            yield "loss_scaling.hysteresis", overflows
            overflows = 0


def _rates(recorded_run: RecordedRun) -> Iterator[Suggestion]:
    """What makes the rates of a trace those of the recipe: a factor, or another end."""
    plan = canonical_plan(recorded_run.recipe)
    schedule = plan.find(Schedule)
    pairs = [
        (row, expected.lr)
        for row, expected in zip(recorded_run.rows, replay(plan, recorded_run.rows), strict=True)
        if expected.lr > 0
    ]
    if schedule is None or not pairs:
        return
    factors = {_rounded(row.lr / lr) for row, lr in pairs}
    if len(factors) == 1:
        yield "optimizer.learning_rate", _rounded(schedule.learning_rate * factors.pop())
    yield "schedule.end_lr", _rounded(pairs[-1][0].lr)
    yield from _powers(schedule, [(row.lr, lr) for row, lr in pairs])
    yield from _warmups(schedule, recorded_run.rows)


def _powers(schedule: Schedule, rates: Sequence[tuple[float, float]]) -> Iterator[Suggestion]:
    """The power of a polynomial decay, from the last rates that the decay has moved."""
    span = schedule.learning_rate - schedule.end_lr
    if schedule.name not in ("linear", "polynomial") or span <= 0:
        return
    for rate, expected in (rates[-1], rates[len(rates) // 2]):
        left, ours = ((lr - schedule.end_lr) / span for lr in (rate, expected))
        if 0 < left < 1 and 0 < ours < 1:
            own = 1.0 if schedule.name == "linear" else schedule.power
            yield "schedule.power", float(f"{own * math.log(left) / math.log(ours):.4g}")


def _warmups(schedule: Schedule, rows: Sequence[TraceRow]) -> Iterator[Suggestion]:
    """The length of a warm-up that begins with these rates, and its first one."""
    yield from (("schedule.warmup_start_lr", _rounded(row.lr)) for row in rows[:1])
    position, start = 0, schedule.warmup_start_lr
    for row in rows[:WARM]:
        if row.lr > start:
            steps = round((schedule.learning_rate - start) * position / (row.lr - start))
            yield from (("schedule.warmup_steps", steps + off) for off in (0, 1))
        position += schedule.tick == "attempt" or not row.skipped


def _rounded(value: float) -> float:
    """Return a number without the dust of float32."""
    return float(f"{value:.6g}")


@dataclass(frozen=True, slots=True)
class Axis:
    """A number that can be fitted: what is searched along, and back."""

    path: str
    to: Callable[[float], float]
    back: Callable[[float], float]
    reach: float
    """How far to look on both sides of the best value that was tried, along the axis."""


def _axis(path: str) -> Axis:
    return Axis(path, math.log10, lambda x: 10.0**x, reach=2.0)


def _share(path: str) -> Axis:
    """Of a number below 1 that matters by what it lacks to 1."""
    return Axis(path, lambda b: math.log10(1.0 - b), lambda x: 1.0 - 10.0**x, reach=1.0)


AXES = {
    axis.path: axis
    for axis in (
        *map(_axis, ("optimizer.learning_rate", "optimizer.weight_decay", "optimizer.eps")),
        *map(_axis, ("clipping.max_norm", "clipping.max_value", "clipping.eps")),
        *map(_axis, ("schedule.end_lr", "schedule.power")),
        *map(_share, ("optimizer.betas.0", "optimizer.betas.1", "optimizer.momentum")),
        _share("ema.decay"),
    )
}


def fitted(
    axis: Axis, start: float, badness: Callable[[float], float], tries: int = 24
) -> float | None:
    """Return the value of a number with the least badness, by golden section around `start`.

    The badness of a value that is not allowed may be infinite. None if there is no way to start.
    """
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    try:
        middle = axis.to(start)
    except ValueError:
        return None
    low, high = middle - axis.reach, middle + axis.reach
    left, right = high - golden * (high - low), low + golden * (high - low)
    ours, theirs = badness(axis.back(left)), badness(axis.back(right))
    for _ in range(tries):
        if ours <= theirs:
            high, right, theirs = right, left, ours
            left = high - golden * (high - low)
            ours = badness(axis.back(left))
        else:
            low, left, ours = left, right, theirs
            right = low + golden * (high - low)
            theirs = badness(axis.back(right))
    return axis.back(left if ours <= theirs else right)


def rounder(value: float) -> Iterator[float]:
    """Yield a number rounded to one, two, ... significant digits, also of its difference to 1."""
    for digits in range(1, 6):
        yield float(f"{value:.{digits}g}")
        if 0.5 < value < 1.0:
            yield float(f"{1.0 - float(f'{1.0 - value:.{digits}g}'):.12g}")
