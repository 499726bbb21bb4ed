"""Level L0b: replay the neutral loss-scale machine and the schedule on a run's own trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from crosscast.plan import loss_scale
from crosscast.plan.operations import Plan, Schedule, UpdateScale
from crosscast.plan.schedule import learning_rate
from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.inside.inject import Fault
from crosscast_parity.recordings.trace import TraceRow

LR_LIMIT = limit_of("L0b", "learning rate")
SCALE_LIMIT = limit_of("L0b", "scale")

NOTHING = "the trace is empty"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the machine says about one window, given which windows were skipped."""

    scale: float
    updates: int
    lr: float


def replay(plan: Plan, rows: Sequence[TraceRow]) -> Iterator[Expected]:
    """Yield the expected values of each window, following the `skipped` of the rows."""
    update_scale, schedule = plan.find(UpdateScale), plan.find(Schedule)
    state = loss_scale.initial(update_scale) if update_scale else loss_scale.ScaleState(1.0)
    updates = 0
    for attempts, row in enumerate(rows):
        updates_before, updates = updates, updates + (not row.skipped)
        lr = 0.0
        if schedule:
            lr = learning_rate(schedule, attempts if schedule.tick == "attempt" else updates_before)
        yield Expected(state.scale, updates, lr)
        if update_scale:
            state = loss_scale.adjust(update_scale, state, not row.skipped)


def scale_after(plan: Plan, rows: Sequence[TraceRow]) -> loss_scale.ScaleState | None:
    """Return the loss scale and its counters after the windows of a trace, None without one."""
    op = plan.find(UpdateScale)
    if op is None:
        return None
    return reduce(
        lambda s, row: loss_scale.adjust(op, s, not row.skipped), rows, loss_scale.initial(op)
    )


def check_machine(plan: Plan, rows: Sequence[TraceRow]) -> tuple[Check, ...]:
    """Check scale, updates, rate and the skip decision of one run against the plan."""
    expected = list(zip(rows, replay(plan, rows), strict=True))
    scaled = plan.find(UpdateScale) is not None
    return (
        judge(
            "L0b",
            "scale",
            (
                Deviation(r.window, relative(r.scale, e.scale), r.scale, e.scale)
                for r, e in expected
            ),
            SCALE_LIMIT,
            nothing=NOTHING,
        ),
        judge(
            "L0b",
            "updates",
            (
                Deviation(r.window, r.updates != e.updates, r.updates, e.updates)
                for r, e in expected
            ),
            0,
            nothing=NOTHING,
        ),
        judge(
            "L0b",
            "learning rate",
            (Deviation(r.window, relative(r.lr, e.lr), r.lr, e.lr) for r, e in expected),
            LR_LIMIT,
            nothing=NOTHING,
        ),
        judge("L0b", "skip decision", _skips(rows, scaled), 0, nothing=NOTHING),
    )


def _skips(rows: Sequence[TraceRow], scaled: bool) -> Iterator[Deviation]:
    """With loss scaling, windows without a finite gradient norm are skipped; without it, none."""
    for row in rows:
        should = scaled and row.grad_norm is None
        yield Deviation(row.window, row.skipped != should, row.skipped, should)


def applied_faults(
    faults: Sequence[Fault], rows: Sequence[TraceRow], injected: Collection[str] | None = None
) -> tuple[Fault, ...]:
    """Return the faults that met a micro-batch of a run.

    Args:
        faults: Those that were planned.
        rows: Its trace.
        injected: Those that the session saw meet one, as text; None if it does not tell.
    """
    return tuple(
        fault
        for fault in faults
        if fault.window < len(rows)
        and fault.place(rows[fault.window].n_micro) is not None
        and (injected is None or str(fault) in injected)
    )


def check_faults(
    faults: Sequence[Fault], rows: Sequence[TraceRow], injected: Collection[str] | None = None
) -> tuple[Check, ...]:
    """Check that every poisoned window of an injected run was skipped.

    A second check, not tested, names the faults that poisoned nothing; arguments as of
    `applied_faults`.
    """
    applied = applied_faults(faults, rows, injected)
    poisoned = {fault.window for fault in applied}
    skipped = judge(
        "L0b",
        "poisoned windows skipped",
        (
            Deviation(row.window, not row.skipped, row.skipped, True)
            for row in rows
            if row.window in poisoned
        ),
        0,
        nothing="no fault was injected",
    )
    missed = ", ".join(str(fault) for fault in faults if fault not in applied)
    if not missed:
        return (skipped,)
    words = f"no micro-batch was met by {missed}"
    left = Check(level="L0b", name="planned faults", result="not tested", wording=words)
    return (skipped, left)
