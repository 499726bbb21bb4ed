"""The neutral loss scale state machine: growth and back-off."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crosscast.plan.operations import UpdateScale
from crosscast.recipe.float32 import FLOAT32_CEILING, float32


@dataclass(frozen=True, slots=True)
class ScaleState:
    """The loss scale with its two counters.

    `good`: clean attempts since the last growth or overflow. `bad`: overflows counted toward the
    next back-off.
    """

    scale: float
    good: int = 0
    bad: int = 0


def initial(op: UpdateScale) -> ScaleState:
    """Return the state before the first attempt."""
    return ScaleState(op.init_scale)


def adjust(op: UpdateScale, state: ScaleState, finite: bool) -> ScaleState:
    """Return the state after one attempt; `finite`: whether all its gradients were finite.

    Called once per attempt, for `dynamic` (products rounded to float32)::

        overflow: good = 0; bad += 1
                  if bad >= hysteresis: scale = max(scale * backoff_factor, min_scale); bad = 0
        clean:    bad = 0; good += 1
                  if good >= growth_interval:
                      good = 0; n = scale * growth_factor
                      if n is finite in float32: scale = min(n, max_scale)

    With `hysteresis_mode` cumulative only growth resets `bad`, and `bad` stays below
    `hysteresis`, so that after the first back-off every further overflow causes another one::

        overflow: good = 0
                  if bad + 1 >= hysteresis: scale = max(scale * backoff_factor, min_scale)
                  else: bad += 1

    `static` keeps the scale and does not count.
    """
    if op.mode == "static":
        return state
    return _clean(op, state) if finite else _overflow(op, state)


def is_lowest(op: UpdateScale, scale: float) -> bool:
    """Whether an overflow cannot lower a scale, which is at its lowest value or constant."""
    return op.mode == "static" or scale <= op.min_scale


def _overflow(op: UpdateScale, state: ScaleState) -> ScaleState:
    bad = state.bad + 1
    if bad < op.hysteresis:
        return replace(state, good=0, bad=bad)
    lower = max(float32(state.scale * op.backoff_factor), op.min_scale)
    return ScaleState(lower, bad=state.bad if op.hysteresis_mode == "cumulative" else 0)


def _clean(op: UpdateScale, state: ScaleState) -> ScaleState:
    good = state.good + 1
    if good < op.growth_interval:
        kept = state.bad if op.hysteresis_mode == "cumulative" else 0
        return ScaleState(state.scale, good=good, bad=kept)
    grown = state.scale * op.growth_factor
    if not grown < FLOAT32_CEILING:
        return ScaleState(state.scale)
    grown = float32(grown)
    return ScaleState(grown if op.max_scale is None else min(grown, op.max_scale))
