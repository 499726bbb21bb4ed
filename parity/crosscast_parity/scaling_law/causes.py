"""Likely causes of a difference: mistakes of data-parallel scripts and their symptoms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast_parity.checks.check import Check
from crosscast_parity.scaling_law.comparison import Case

NEAR = 0.02
"""How close a ratio must be to a number of processes, relative to it."""


def likely_cause(case: Case, checks: Sequence[Check]) -> str:
    """Return the first mistake that fits what failed, in words; empty if none does.

    Args:
        case: the run.
        checks: all of it.
    """
    failed = {check.name: check for check in checks if check.result == "fail"}
    return next(_causes(case, failed), "") if failed else ""


def _causes(case: Case, failed: dict[str, Check]) -> Iterator[str]:
    if "data" in failed:
        if "twice" in failed["data"].wording:
            yield "several processes get the same rows: the window is not divided"
        yield "the rows of the window are not divided among the processes"
    agree = failed.get("processes agree on the trace")
    if agree and "skipped" in agree.wording:
        yield (
            "each process checks its own gradients for inf and nan, before they are reduced or"
            " without reducing the flag"
        )
    if case.shape_run.outcome.kind == "timeout" and case.steps.steps:
        yield "a deadlock: processes wait for each other in different operations"
    size = case.shape.processes
    skips = failed.get("overflows skipped")
    if skips and size > 1:
        yield "an overflow of one process does not reach the others, or is lost in the reduction"
    if agree and "grad_norm" in agree.wording:
        if "processes hold the same state" in failed:
            yield "gradients are not reduced over the processes, or not all of them"
        yield "each process computes the norm and clips before the gradients are reduced"
    if agree and "counters" not in agree.wording:
        yield "a process reports values of its own rows, not of the whole window"
    if "processes hold the same state" in failed:
        yield "processes do not make the same update"
    norms, losses = _ratios(case)
    for value, words in ((float(size), "summed"), (1.0 / size, "divided twice")):
        if size > 1 and "gradient norm" in failed and _near(norms, value):
            means = (
                "a mean is used instead of a sum"
                if words == "summed"
                else "a sum is used instead of a mean"
            )
            yield f"gradients are {words} over the {size} processes: {means} somewhere"
        if size > 1 and "loss" in failed and "gradient norm" not in failed and _near(losses, value):
            yield f"only the reported loss is {words} over the {size} processes"
    if "micro-batches" in failed or "rows" in failed:
        yield "the counts of one process are used for all"
    if "learning rate" in failed or "updates" in failed:
        yield "the schedule does not count windows, or counts them for every process"
    if "scale by the recipe" in failed or "scale" in failed:
        yield "the loss scale does not count windows as the recipe does"
    wrong = [name for name in ("loss", "gradient norm") if name in failed]
    if wrong and not _full_windows_differ(case, failed):
        yield "only short windows differ: they are divided by the size of another window or process"
    if not wrong and {"weights", "moments"} & failed.keys():
        yield "gradients are equal before clipping: clipping, the update or the average differs"
    if wrong:
        yield "the divisor of the loss is not that of the whole window"


def _ratios(case: Case) -> tuple[list[float], list[float]]:
    """Return the ratios of the first windows' norms and losses to those of the reference."""
    norms: list[float] = []
    losses: list[float] = []
    for ours, theirs in case.pairs[:2]:
        pairs = (
            (norms, ours.row.grad_norm, theirs.row.grad_norm),
            (losses, ours.row.loss, theirs.row.loss),
        )
        for ratios, mine, yours in pairs:
            if mine is not None and yours:
                ratios.append(mine / yours)
    return norms, losses


def _near(ratios: Sequence[float], value: float) -> bool:
    return bool(ratios) and abs(ratios[0] / value - 1.0) < NEAR


def _full_windows_differ(case: Case, failed: dict[str, Check]) -> bool:
    """Whether the first window that differs is a full one."""
    first = min(check.window or 0 for check in failed.values() if check.window is not None)
    rows = case.reference.steps.rows
    return first >= len(rows) or rows[first].rows == case.shape.rows
