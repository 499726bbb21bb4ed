"""CL105: gradients of a short last window are applied in the next epoch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import window_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._tail import open_tails
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows that restart in every epoch while gradients are kept."""
    for step in window_steps(subject):
        yield from leaking_tails(step)


def leaking_tails(step: TrainingStep) -> Iterator[Finding]:
    """Find windows of a step that restart in every epoch while gradients are kept."""
    for event, test, cleared in open_tails(step):
        if not cleared:
            yield Finding(
                span=event.module.span(test.node),
                message="if the number of batches per epoch is not a multiple of "
                f"{test.steps_text}, the gradients of the remainder are added to the "
                "first window of the next epoch",
                hint="also step at the last batch, or clear the gradients at the start of "
                "every epoch",
                related=(event.span,),
            )


RULE = Rule("CL105", check, hints=("backward", "scaler", "apply_gradients"))
