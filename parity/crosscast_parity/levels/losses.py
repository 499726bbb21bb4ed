"""Compare losses: at the first update, along the trajectory, and of the final evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check, Deviation, Result, judge, number, relative, windows
from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.envelope import Envelope, distance
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.status import Evaluation
from crosscast_parity.recordings.trace import TraceRow

Pairs = Sequence[tuple[TraceRow, TraceRow]]

MIN_HORIZON = 20
ENOUGH_TWINS = 3
"""An envelope of fewer perturbed runs is too narrow to accuse anybody."""

NOTHING = "there is no window to compare"


FLOOR: dict[Dtype, float] = {"float32": 5e-6, "float16": 5e-5, "bfloat16": 4e-4}
"""Smallest envelope of the loss, by the type of the matmuls; in half where none was measured."""
LAST_DIGIT = 2.0**-23
"""Of a loss in float32: no two programs need to agree in it."""


def check_first_loss(pairs: Pairs, dtype: Dtype) -> Check:
    """L1: at the first update both models still hold the weights they were given."""
    level: Level = "L1a" if dtype == "float32" else "L1c"
    update = next(((a, b) for a, b in pairs if not (a.skipped or b.skipped)), None)
    deviations = (
        Deviation(a.window, relative(a.loss, b.loss), a.loss, b.loss)
        for a, b in ([update] if update else [])
    )
    limit = limit_of(level, "first loss", dtype)
    return judge(level, "first loss", deviations, limit, nothing=NOTHING)


def check_trajectory(calm: Pairs, envelope: Envelope, dtype: Dtype) -> Check:
    """L2: the losses up to the horizon, in units of their limit."""
    deviations = (
        Deviation(
            a.window,
            distance(a.loss, b.loss) / envelope.limit(a.window, floor_of(envelope, b.loss, dtype)),
            a.loss,
            b.loss,
        )
        for a, b in calm
    )
    check = judge("L2", "trajectory", deviations, 1.0, nothing=NOTHING)
    if check.result == "fail":
        check = replace(check, wording=check.wording.replace("window", "from window", 1))
    return _doubt(check, envelope, len(calm))


def floor_of(envelope: Envelope, loss: float | None, dtype: Dtype) -> float:
    """Return by how much rounding may move a loss where perturbed weights do not move it at all.

    In float32 one digit of the loss; in half precision what the type was measured to round.
    """
    digit = LAST_DIGIT * abs(loss or 1.0)
    if dtype == "float32":
        return digit
    return max(digit, FLOOR[dtype] if envelope.rounded is None else envelope.rounded)


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


def check_end(
    ours: Evaluation | None, reference: Evaluation | None, envelope: Envelope, dtype: Dtype
) -> Iterator[Check]:
    """Judge the losses of the final evaluation, of weights and averages, as the last window's.

    What only an evaluation uses, as running statistics, shows in no loss of a window.
    """
    if ours is None or reference is None:
        return
    doubt = doubt_of_end(envelope)
    weights = untested("L2", "final evaluation", doubt)
    averages = untested("L2", "final evaluation of averages", doubt)
    for check, a, b in (
        (weights, ours, reference),
        (averages, ours.averages, reference.averages),
    ):
        if a is None or b is None:
            continue
        if doubt:
            yield check
            continue
        limit = envelope.limit(envelope.horizon - 1, floor_of(envelope, b.loss, dtype))
        size = distance(a.loss, b.loss) / limit
        words = f"loss {number(a.loss)}, reference {number(b.loss)} (limit {limit:.2g})"
        result: Result = "pass" if size <= 1 else "fail"
        yield replace(check, result=result, wording=words, value=size, limit=1.0)


def doubt_of_end(envelope: Envelope) -> str:
    """Return why noise does not tell how the longest run must end; empty if it does."""
    if envelope.twins < ENOUGH_TWINS:
        return f"{ENOUGH_TWINS} perturbed runs are needed, {envelope.twins} finished"
    if envelope.horizon < len(envelope.spread):
        return f"from window {envelope.horizon} on, rounding moves the reference's own loss too far"
    if envelope.horizon < MIN_HORIZON:
        return f"at least {windows(MIN_HORIZON)} are needed"
    return ""


def report_evaluation(ours: Evaluation | None, reference: Evaluation | None) -> tuple[Check, ...]:
    """Report the final evaluation beside the reference's."""
    if ours is None or reference is None:
        return ()
    pairs = (
        ("eval loss", ours.loss, reference.loss),
        ("eval accuracy", ours.accuracy, reference.accuracy),
        *(
            (f"eval metric {name}", value, reference.metrics[name])
            for name, value in ours.metrics.items()
            if name in reference.metrics
        ),
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
