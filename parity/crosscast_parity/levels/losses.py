"""Compare losses: at the first update, along the trajectory, and of the final evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check, Deviation, Level, judge, number, relative, windows
from crosscast_parity.levels.envelope import Envelope, distance
from crosscast_parity.recordings.status import Evaluation
from crosscast_parity.recordings.trace import Row

Pairs = Sequence[tuple[Row, Row]]

MIN_HORIZON = 20
ENOUGH_TWINS = 3
"""An envelope of fewer perturbed runs is too narrow to accuse anybody."""

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


def check_first_loss(pairs: Pairs, dtype: Dtype) -> Check:
    """L1: at the first update both models still hold the weights they were given."""
    level: Level = "L1a" if dtype == "float32" else "L1c"
    update = next(((a, b) for a, b in pairs if not (a.skipped or b.skipped)), None)
    deviations = (
        Deviation(a.window, relative(a.loss, b.loss), a.loss, b.loss)
        for a, b in ([update] if update else [])
    )
    return judge(level, "first loss", deviations, LIMITS[dtype].first_loss, nothing=NOTHING)


def check_trajectory(calm: Pairs, envelope: Envelope, dtype: Dtype) -> Check:
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
