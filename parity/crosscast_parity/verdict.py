"""From checks to a verdict on a pair of targets, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from crosscast_parity.checks import Check, failures, relative
from crosscast_parity.half import in_words
from crosscast_parity.levels.traces import (
    COLUMNS,
    GRAD_NORM,
    Dtype,
    Envelope,
    compare_traces,
    report_evaluation,
)
from crosscast_parity.records import Difference, Pair, Run, Verdict

SHOWN_DIFFERENCES = 3


def judge_pair(
    ours: Run,
    reference: Run | None,
    envelope: Envelope | None,
    *,
    dtype: Dtype,
    faults: tuple[Run | None, Run | None] = (None, None),
) -> Pair:
    """Judge one target against the reference.

    Args:
        ours: plain run of the target.
        reference: plain run of the reference; None if no target came to an end.
        envelope: noise of the reference.
        dtype: compute dtype of the recipe.
        faults: runs with injected faults of target and reference, if there were any.
    """
    name = reference.target if reference else "-"
    unfinished = _unfinished(ours) or _unfinished(faults[0])
    if unfinished or reference is None or envelope is None:
        verdict, wording = unfinished or ("NOT TESTED", "no reference run came to an end")
        wording += _half(ours, reference, dtype)
        return Pair(target=ours.target, reference=name, verdict=verdict, wording=wording)
    checks = (
        _end(ours, reference),
        *compare_traces(ours.rows, reference.rows, envelope, dtype=dtype),
        *ours.checks,
    )
    fault_checks: tuple[Check, ...] = ()
    poisoned, reference_poisoned = faults
    if poisoned and reference_poisoned and reference_poisoned.outcome.complete:
        compared = compare_traces(
            poisoned.rows, reference_poisoned.rows, envelope, dtype=dtype, trajectory=False
        )
        fault_checks = (_end(poisoned, reference_poisoned), *compared, *poisoned.checks)
    elif poisoned:
        fault_checks = (_no_fault_reference(),)
    verdict, wording = _conclude(checks, fault_checks, (reference, reference_poisoned))
    return Pair(
        target=ours.target,
        reference=name,
        verdict=verdict,
        wording=wording + _half(ours, reference, dtype),
        checks=(*checks, *_evaluation(ours, reference)),
        fault_checks=fault_checks,
        differences=(
            *_differences(ours, reference, envelope),
            *_differences(poisoned, reference_poisoned, envelope),
        ),
    )


def _half(ours: Run, reference: Run | None, dtype: Dtype) -> str:
    """Say how half precision was computed on both sides."""
    if dtype == "float32":
        return ""
    sides = (ours, reference) if reference else (ours,)
    return f" ({dtype}: {in_words({run.target: run.execution for run in sides})})"


def _unfinished(run: Run | None) -> tuple[Verdict, str] | None:
    """A crash is never counted as a difference, nor a missing package as an error."""
    if run is None or run.outcome.complete:
        return None
    outcome = run.outcome
    what = outcome.message or "no message"
    if outcome.kind == "cannot_run":
        return "NOT TESTED", f"cannot run here: {what}"
    if outcome.kind == "interrupted":
        return "NOT TESTED", "interrupted"
    last = f", last window {run.rows[-1].window}" if run.rows else ", no window finished"
    return "ERROR", f"run {run.name} {outcome.kind}: {what}{last}"


def _end(ours: Run, reference: Run) -> Check:
    a, b = ours.outcome, reference.outcome
    same = a.kind == b.kind
    return Check(
        level="L0a",
        name="end",
        result="pass" if same else "fail",
        wording=a.kind if same else f"{a.kind} ({a.message}), reference {b.kind} ({b.message})",
    )


def _no_fault_reference() -> Check:
    return Check(
        level="L0a",
        name="end",
        result="unclear",
        wording="the reference did not finish its run with faults",
    )


def _evaluation(ours: Run, reference: Run) -> tuple[Check, ...]:
    a, b = ours.outcome.status, reference.outcome.status
    return report_evaluation(a.eval if a else None, b.eval if b else None)


def _conclude(
    checks: Sequence[Check], fault_checks: Sequence[Check], references: Sequence[Run | None]
) -> tuple[Verdict, str]:
    by_run = (("", checks), (" of the run with faults", fault_checks))
    for run, found in by_run:
        for check in failures(_by_level(found)):
            return "DIFFERENT", f"different at {check.level} {check.name}{run}: {check.wording}"
    for reference in references:
        if reference:
            for check in failures(reference.checks):
                return "DIFFERENT", _reference_is_wrong(reference, check)
    for run, found in by_run:
        for check in _by_level(found):
            if check.result == "unclear":
                return "INCONCLUSIVE", f"{check.level} {check.name}{run}: {check.wording}"
    return "EQUIVALENT", "equivalent within measured rounding noise: " + _summary(checks)


def _reference_is_wrong(reference: Run, check: Check) -> str:
    return (
        f"run {reference.name} itself differs from the recipe at L0b {check.name}: {check.wording}"
    )


def _by_level(checks: Iterable[Check]) -> list[Check]:
    """The lowest level first: it says most about the cause; L0b tells which side is wrong."""
    order = {"L0b": 0, "L0a": 1, "L0c": 2, "L1": 3, "L2": 4, "result": 5}
    return sorted(checks, key=lambda check: order[check.level])


def _summary(checks: Sequence[Check]) -> str:
    named = {check.name: check.wording for check in checks if check.level in ("L0c", "L1", "L2")}
    parts = (
        "trace exact",
        f"first loss {named['first loss']}",
        f"gradient norm {named['gradient norm']}",
        f"trajectory {named['trajectory']}",
    )
    return ", ".join(parts)


def _differences(
    ours: Run | None, reference: Run | None, envelope: Envelope
) -> tuple[Difference, ...]:
    """The first windows whose rows differ in a column that is compared."""
    if ours is None or reference is None:
        return ()
    found = (
        Difference(run=ours.role, ours=a, reference=b)
        for a, b in zip(ours.rows, reference.rows, strict=False)
        if a.skipped != b.skipped
        or any(
            relative(column.value(a), column.value(b)) > column.limit
            for column in (*COLUMNS, *((GRAD_NORM,) if a.window < envelope.horizon else ()))
        )
    )
    return tuple(islice(found, SHOWN_DIFFERENCES))
