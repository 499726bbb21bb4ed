"""CL118: the counter of a window continues across epochs."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import window_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import EPOCHS, changed
from crosscast_reading.lint.rules.accumulation._tail import carried_tails, closed_tails
from crosscast_reading.lint.rules.accumulation.tail_leaks import RULE as LEAKS
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


_WRONG = changed(
    EPOCHS,
    ("steps = 4\n", "steps = 4\nseen = 0\n"),
    ("for step, (inputs, targets) in enumerate(loader)", "for inputs, targets in loader"),
    ("        if (step + 1) % steps == 0 or step + 1 == len(loader):", "        if {}:"),
).format("seen % steps == 0")

RULE = Rule(
    code="CL118",
    name="window-spans-epochs",
    topic="accumulation",
    severity=Severity.WARNING,
    title="Window that spans two epochs",
    why="The counter is not reset at the start of an epoch. If the gradients are cleared there, "
    "the first update contains fewer micro-batches than its losses are divided by and is up "
    "to N times too small. If they are kept, only the last window of the run is lost, and "
    "there are slightly fewer updates than a schedule of length `epochs * ceil(batches / N)` "
    "expects; this is reported as a note. If a step behind the loop ends the window of an epoch, "
    "the next one is short as well.",
    wrong=_WRONG.replace("        if seen", "        seen += 1\n        if seen"),
    right=LEAKS.right,
    check=check,
    hints=("backward", "scaler"),
)
