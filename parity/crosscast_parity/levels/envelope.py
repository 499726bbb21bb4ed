"""How far rounding alone moves the losses and norms of a run: the yardstick of L2 and L0c."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crosscast_parity.checks.check import relative
from crosscast_parity.recordings.trace import TraceRow

Trace = Sequence[TraceRow]

FACTOR = 20.0
MOVED = 1e-7
"""Share by which the weights of perturbed runs are moved."""
CHAOS = 1e-3
"""The horizon is the first window in which moved weights move the loss so far."""
FIRST = 4
"""Windows in which the rounding of a type is measured."""
NORM_NOISE = 5e-3
"""Gradient norms are compared while rounding moves them by no more, a quarter of their limit."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """How far rounding-size noise moves the reference's own loss.

    `spread[t]`: running maximum over the perturbed twins up to window t. `horizon`: windows
    before the first spread over `CHAOS`. `twins`: how many runs it was measured with.
    `norms[t]`: the same for the gradient norm, relative; empty if it was not measured. `rounded`:
    how far the loss of the first windows is from that in float32, None if that was not measured.
    `moved`: by what share the weights of the twins were moved.
    """

    spread: tuple[float, ...]
    horizon: int
    twins: int
    norms: tuple[float, ...] = ()
    rounded: float | None = None
    moved: float = MOVED

    def limit(self, window: int, floor: float) -> float:
        """Return the largest loss difference that passes in a window."""
        return FACTOR * max(self.spread[window], floor)

    @property
    def calm_norms(self) -> int:
        """Windows before the reference's own norm moves by more than `NORM_NOISE`."""
        noisy = (t for t, size in enumerate(self.norms) if size > NORM_NOISE)
        return next(noisy, max(self.horizon, len(self.norms)))


def measure_envelope(
    reference: Trace,
    twins: Sequence[Trace],
    kin: Sequence[Trace] = (),
    *,
    exact: Trace = (),
    moved: float = MOVED,
) -> Envelope:
    """Measure the envelope of a reference run.

    Args:
        reference: trace of the run.
        twins: of runs of the same program from perturbed weights; they set the horizon.
        kin: of runs that differ by rounding as well, as the same program in float32.
        exact: of that in float32 alone, if the reference is in half precision.
        moved: by what share the weights of the twins were moved.
    """
    length = min([len(reference), *(len(run) for run in (*twins, *kin))])
    noise = _running_worst(reference, twins, length, _loss_distance)
    spread = _running_worst(reference, (*twins, *kin), length, _loss_distance)
    norms = _running_worst(reference, (*twins, *kin), length, _norm_distance)
    # A spread without end would let everything pass.
    ends = (t for t in range(length) if noise[t] > CHAOS or math.isinf(spread[t]))
    horizon = next(ends, length)
    rounded = _rounded(reference, exact)
    return Envelope(tuple(spread), horizon, len(twins), tuple(norms), rounded, moved)


def _rounded(reference: Trace, exact: Trace) -> float | None:
    """Return how far the first losses are from those in float32; None where an overflow parts them.

    Of several windows together: a single loss may happen to be rounded by nothing.
    """
    pairs = list(zip(reference[:FIRST], exact[:FIRST], strict=False))
    parted = any(a.skipped or b.skipped for a, b in pairs[: FIRST - 1])
    if len(pairs) < FIRST or parted:
        return None
    worst = max(_loss_distance(a, b) for a, b in pairs)
    return worst if math.isfinite(worst) else None


def _running_worst(
    reference: Trace, runs: Sequence[Trace], length: int, far: Callable[[TraceRow, TraceRow], float]
) -> list[float]:
    """Return the largest distance so far, window by window."""
    spread: list[float] = []
    worst = 0.0
    for t in range(length):
        worst = max([worst, *(far(run[t], reference[t]) for run in runs)])
        spread.append(worst)
    return spread


def _loss_distance(row: TraceRow, other: TraceRow) -> float:
    return distance(row.loss, other.loss)


def _norm_distance(row: TraceRow, other: TraceRow) -> float:
    """Skipped windows and non-finite norms carry no information about noise."""
    if row.skipped or other.skipped or row.grad_norm is None or other.grad_norm is None:
        return 0.0
    return relative(row.grad_norm, other.grad_norm)


def distance(ours: float | None, reference: float | None) -> float:
    """Return |ours - reference|, infinite if only one of them is finite."""
    if ours is None or reference is None:
        return 0.0 if ours is reference else math.inf
    return abs(ours - reference)
