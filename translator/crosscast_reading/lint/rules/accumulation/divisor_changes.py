"""CL121: the micro-batches of one window are divided by different numbers."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import own_windows, window_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.divisors import divisors_of
from crosscast_reading.trainstep.answers.windows import windows_of


def check(subject: Subject) -> Iterator[Finding]:
    """Find divisors that depend on the round and change within a window."""
    for step in window_steps(subject):
        divisors = divisors_of(step, list(windows_of(step))) if own_windows(step) else None
        if divisors is None or divisors.changes is None:
            continue
        length, window = divisors.changes
        numbers = ", ".join(f"{number:g}" for number in window)
        yield Finding(
            span=divisors.event.span,
            message=f"in an epoch of {length} micro-batches, those of one window are divided by "
            f"{numbers}: they do not count alike",
            hint="divide all micro-batches of a window by its number of micro-batches: for the "
            "last one of an epoch, what is left over at its start",
            related=tuple(event.span for event in step.of("backward")[:1]),
        )


RULE = Rule("CL121", check, hints=("backward", "scaler"))
