"""CL118: the counter of a window continues across epochs."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import window_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._tail import carried_tails, closed_tails
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows that begin in one epoch and end in the next."""
    for step in window_steps(subject):
        yield from _closed(step)
        for event, test, cleared in carried_tails(step):
            several = f"if {test.steps_text} does not divide the batches of an epoch, "
            if cleared:
                yield Finding(
                    span=event.module.span(test.node),
                    message=f"{several}the first update of the next epoch has fewer micro-batches: "
                    f"{test.counter} keeps running, but the gradients are cleared",
                    hint="count from 0 in every epoch, and also step at its last batch",
                    related=tuple(candidate.span for candidate in cleared[:1]),
                )
            else:
                yield Finding(
                    span=event.module.span(test.node),
                    message=f"{several}a window spans two epochs, and the last window of the run "
                    "is never applied",
                    hint="if this is not intended, count from 0 in every epoch and also step at "
                    "its last batch",
                    related=(event.span,),
                    severity=Severity.NOTE,
                )


def _closed(step: TrainingStep) -> Iterator[Finding]:
    """Find counters that do not know of the window that the end of an epoch closed."""
    for event, test, closing in closed_tails(step):
        yield Finding(
            span=event.module.span(test.node),
            message=f"if {test.steps_text} does not divide the batches of an epoch, the first "
            f"window of the next epoch is short, too: the step behind the loop ends the window, "
            f"but {test.counter} keeps running",
            hint="count from 0 in every epoch",
            related=(closing[0].span,),
        )


RULE = Rule("CL118", check, hints=("backward", "scaler"))
