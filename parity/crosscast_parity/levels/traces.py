"""Compare the trace of one target with that of the reference target, check by check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crosscast_parity.checks import Check, Deviation, Level, judge, number, relative, windows
from crosscast_parity.levels.machine import LR_LIMIT, SCALE_LIMIT
from crosscast_parity.status import Evaluation
from crosscast_parity.traces import Row

Dtype = Literal["float32", "float16", "bfloat16"]
Trace = Sequence[Row]
Pairs = Sequence[tuple[Row, Row]]

FACTOR = 20.0
CHAOS = 1e-3
"""The horizon is the first window in which a 1e-7 change of the weights moves the loss so far."""
MIN_HORIZON = 20
NORM_NOISE = 5e-3
"""Gradient norms are compared while rounding moves them by no more, a quarter of their limit."""
ENOUGH_TWINS = 3
"""An envelope of fewer perturbed runs is too narrow to accuse anybody."""

KERNELS = 4.0
"""Kernels differ by a few bits: gradients of one framework are never so many times larger."""

LONE = 4
"""Overflows of one side alone in a row: after the first its scale is lower than the other's."""

NOTHING = "there is no window to compare"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that depend on the dtype of the matmuls.

    `floor`: smallest envelope of the loss. `first_loss`: relative; in half precision one rounding
    unit, because native kernels may round at other places.
    """

    floor: float
    first_loss: float


LIMITS: dict[Dtype, Limits] = {
    "float32": Limits(floor=5e-6, first_loss=1e-5),
    "float16": Limits(floor=5e-5, first_loss=2.0**-11),
    "bfloat16": Limits(floor=4e-4, first_loss=2.0**-8),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the trace, compared in every window."""

    name: str
    level: Level
    limit: float
    value: Callable[[Row], float | None]


COLUMNS = (
    Column("micro-batches", "L0a", 0, lambda row: row.n_micro),
    Column("rows", "L0a", 0, lambda row: row.rows),
    Column("scale", "L0a", SCALE_LIMIT, lambda row: row.scale),
    Column("updates", "L0a", 0, lambda row: row.updates),
    Column("learning rate", "L0a", LR_LIMIT, lambda row: row.lr),
)
GRAD_NORM = Column("gradient norm", "L0c", 2e-2, lambda row: row.grad_norm)


@dataclass(frozen=True, slots=True)
class Envelope:
    """How far rounding-size noise moves the reference's own loss.

    `spread[t]`: running maximum over the perturbed twins up to window t. `horizon`: windows
    before the first spread over `CHAOS`. `twins`: how many runs it was measured with.
    `norms[t]`: the same for the gradient norm, relative; empty if it was not measured.
    """

    spread: tuple[float, ...]
    horizon: int
    twins: int
    norms: tuple[float, ...] = ()

    def limit(self, window: int, floor: float) -> float:
        """Return the largest loss difference that passes in a window."""
        return FACTOR * max(self.spread[window], floor)

    @property
    def calm_norms(self) -> int:
        """Windows before the reference's own norm moves by more than `NORM_NOISE`."""
        noisy = (t for t, size in enumerate(self.norms) if size > NORM_NOISE)
        return next(noisy, max(self.horizon, len(self.norms)))


def measure_envelope(
    reference: Trace, twins: Sequence[Trace], kin: Sequence[Trace] = ()
) -> Envelope:
    """Measure the envelope of a reference run.

    Args:
        reference: trace of the run.
        twins: of runs of the same program from weights perturbed by 1e-7; they set the horizon.
        kin: of runs that differ by rounding as well, as the same program in float32.
    """
    length = min([len(reference), *(len(run) for run in (*twins, *kin))])
    noise = _running_worst(reference, twins, length, _loss_distance)
    spread = _running_worst(reference, (*twins, *kin), length, _loss_distance)
    norms = _running_worst(reference, (*twins, *kin), length, _norm_distance)
    # A spread without end would let everything pass.
    ends = (t for t in range(length) if noise[t] > CHAOS or math.isinf(spread[t]))
    horizon = next(ends, length)
    return Envelope(tuple(spread), horizon, len(twins), tuple(norms))


def _running_worst(
    reference: Trace, runs: Sequence[Trace], length: int, far: Callable[[Row, Row], float]
) -> list[float]:
    """Return the largest distance so far, window by window."""
    spread: list[float] = []
    worst = 0.0
    for t in range(length):
        worst = max([worst, *(far(run[t], reference[t]) for run in runs)])
        spread.append(worst)
    return spread


def _loss_distance(one: Row, other: Row) -> float:
    return distance(one.loss, other.loss)


def _norm_distance(one: Row, other: Row) -> float:
    """Skipped windows and norms that are no numbers say nothing about noise."""
    if one.skipped or other.skipped or one.grad_norm is None or other.grad_norm is None:
        return 0.0
    return relative(one.grad_norm, other.grad_norm)


def distance(ours: float | None, reference: float | None) -> float:
    """Return |ours - reference|, infinite if only one of them is finite."""
    if ours is None or reference is None:
        return 0.0 if ours is reference else math.inf
    return abs(ours - reference)


def compare_traces(
    ours: Trace, reference: Trace, envelope: Envelope, *, dtype: Dtype, trajectory: bool = True
) -> tuple[Check, ...]:
    """Compare two runs of the same recipe, weights and batches.

    In float16 an overflow of its own in one framework only shows different kernels, not different
    programs: the check `skipped` is then unclear and later windows are not compared. Neither are
    losses and norms from where they are no numbers on both sides: that is no agreement.

    Args:
        ours: trace of the target.
        reference: trace of the reference target.
        envelope: noise of the reference; the gradient norm is compared up to its horizon.
        dtype: compute dtype of the recipe.
        trajectory: also compare the losses; not for runs with faults, which have no twins.
    """
    skipped = _skipped(ours, reference, natural=dtype == "float16")
    end = min(len(ours), len(reference))
    if skipped.result == "unclear" and skipped.window is not None:
        end = skipped.window
    pairs = list(zip(ours[:end], reference[:end], strict=True))
    sound, diverged = _sound(pairs)
    calm = sound[: envelope.horizon]
    held = replace(envelope, horizon=min(envelope.horizon, len(sound)))
    losses = (_first_loss(sound, dtype), _trajectory(calm, held, dtype))
    return (
        _lengths(ours, reference),
        skipped,
        *(_column(column, pairs) for column in COLUMNS),
        _norms(calm, envelope),
        *([diverged] if diverged else ()),
        *(losses if trajectory else ()),
    )


def _sound(pairs: Pairs) -> tuple[Pairs, Check | None]:
    """Return the windows up to the first update whose loss or norm is not finite.

    That window itself is among them if only one side has no number there: then it is the
    difference. If neither has, a check says so.
    """
    for count, (a, b) in enumerate(pairs):
        lost = [
            (name, ours is None, reference is None)
            for name, ours, reference in (
                ("loss", a.loss, b.loss),
                ("gradient norm", a.grad_norm, b.grad_norm),
            )
            if ours is None or reference is None
        ]
        if a.skipped or b.skipped or not lost:
            continue
        if any(mine != theirs for _, mine, theirs in lost):
            return pairs[: count + 1], None
        words = f"both diverged in window {a.window}: {lost[0][0]} not finite"
        check = Check(
            level="L0c", name="divergence", result="unclear", wording=words, window=a.window
        )
        return pairs[:count], check
    return pairs, None


def _lengths(ours: Trace, reference: Trace) -> Check:
    same = len(ours) == len(reference)
    return Check(
        level="L0a",
        name="windows",
        result="pass" if same else "fail",
        wording=f"{len(ours)}" if same else f"{len(ours)}, expected {len(reference)}",
        value=float(abs(len(ours) - len(reference))),
        limit=0,
        window=None if same else min(len(ours), len(reference)),
    )


def _skipped(ours: Trace, reference: Trace, *, natural: bool) -> Check:
    pairs = list(zip(ours, reference, strict=False))
    deviations = (
        Deviation(a.window, a.skipped != b.skipped, a.skipped, b.skipped) for a, b in pairs
    )
    check = judge("L0a", "skipped", deviations, 0, nothing=NOTHING)
    if check.result != "fail" or not natural:
        return check
    far = next(_beyond_kernels(pairs), None)
    if far is not None:
        ours_skips, a, b = far[0].skipped, *far
        return replace(
            check,
            window=a.window,
            wording=f"window {a.window}: {'skipped' if ours_skips else 'no overflow'} at scale"
            f" {a.scale:g}, reference {'no overflow' if ours_skips else 'skipped'} at {b.scale:g}",
        )
    return Check(
        level="L0a",
        name="skipped",
        result="unclear",
        wording=f"window {check.window}: gradients overflowed in one framework only; later windows"
        " are not compared. Lower loss_scaling.init_scale to 4096 or less",
        value=check.value,
        limit=0,
        window=check.window,
    )


def _beyond_kernels(pairs: Pairs) -> Iterator[tuple[Row, Row]]:
    """Yield the windows in which one overflows as no other kernel would make it.

    Either at a scale far below that at which the other does not, or once more in a row.
    """
    lone = 0
    for ours, reference in pairs:
        lone = lone + 1 if ours.skipped != reference.skipped else 0
        if lone:
            skips, passes = (ours, reference) if ours.skipped else (reference, ours)
            lower = skips.scale <= passes.scale
            if skips.scale * KERNELS <= passes.scale or (lower and lone >= LONE):
                yield ours, reference


def _column(column: Column, pairs: Pairs) -> Check:
    def deviations() -> Iterator[Deviation]:
        for a, b in pairs:
            ours, expected = column.value(a), column.value(b)
            yield Deviation(
                a.window,
                relative(ours, expected) if column.limit else float(ours != expected),
                ours,
                expected,
            )

    return judge(column.level, column.name, deviations(), column.limit, nothing=NOTHING)


def _norms(pairs: Pairs, envelope: Envelope) -> Check:
    """L0c: up to where the reference's own norm is no longer sure."""
    judged = pairs[: envelope.calm_norms]
    if pairs and not judged:
        words = "rounding moves the reference's own norm too far from the start"
        return Check(level="L0c", name=GRAD_NORM.name, result="not tested", wording=words)
    return _column(GRAD_NORM, [(a, b) for a, b in judged if not (a.skipped or b.skipped)])


def _first_loss(pairs: Pairs, dtype: Dtype) -> Check:
    """L1: at the first update both models still hold the weights they were given."""
    level: Level = "L1a" if dtype == "float32" else "L1c"
    update = next(((a, b) for a, b in pairs if not (a.skipped or b.skipped)), None)
    deviations = (
        Deviation(a.window, relative(a.loss, b.loss), a.loss, b.loss)
        for a, b in ([update] if update else [])
    )
    return judge(level, "first loss", deviations, LIMITS[dtype].first_loss, nothing=NOTHING)


def _trajectory(calm: Pairs, envelope: Envelope, dtype: Dtype) -> Check:
    """L2: the losses up to the horizon, in units of their limit."""
    floor = LIMITS[dtype].floor
    deviations = (
        Deviation(
            a.window, distance(a.loss, b.loss) / envelope.limit(a.window, floor), a.loss, b.loss
        )
        for a, b in calm
    )
    check = judge("L2", "trajectory", deviations, 1.0, nothing=NOTHING)
    return _doubt(check, envelope, len(calm))


def _doubt(check: Check, envelope: Envelope, compared: int) -> Check:
    """Say `unclear` where the envelope or the horizon carries no judgement."""
    wording = check.wording
    if check.result == "pass":
        wording = f"at {check.value:.2g} of the limit over {windows(compared)}"
    result = check.result
    if result == "fail" and envelope.twins < ENOUGH_TWINS:
        result = "unclear"
        wording += f"; {ENOUGH_TWINS} perturbed runs are needed, {envelope.twins} finished"
    elif result == "pass" and compared < MIN_HORIZON:
        result = "unclear"
        why = "lower the learning rate" if envelope.horizon < len(envelope.spread) else "run more"
        wording += f"; at least {MIN_HORIZON} are needed: {why}"
    return Check(
        level="L2",
        name="trajectory",
        result=result,
        wording=wording,
        value=check.value,
        limit=check.limit,
        window=check.window,
    )


def report_evaluation(ours: Evaluation | None, reference: Evaluation | None) -> tuple[Check, ...]:
    """Report the final evaluation; it never decides (parity of results is the weakest check)."""
    if ours is None or reference is None:
        return ()
    pairs = (
        ("eval loss", ours.loss, reference.loss),
        ("eval accuracy", ours.accuracy, reference.accuracy),
    )
    return tuple(
        Check(
            level="result",
            name=name,
            result="info",
            wording=f"{number(a)}, reference {number(b)}",
            value=distance(a, b),
        )
        for name, a, b in pairs
    )
