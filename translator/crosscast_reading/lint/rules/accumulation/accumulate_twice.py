"""CL116: Accelerate counts micro-batches, and so does the program."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, known_word
from crosscast_reading.lint.answers.windows import ACCUMULATES, accelerator_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find divisions and window tests of the program within `accumulate()`."""
    for step in eager_steps(subject):
        backward = [
            candidate for candidate in step.of("backward") if candidate.context("accumulate")
        ]
        if not backward or any(known_word(candidate, "multiplied") for candidate in backward):
            continue
        if accelerator_steps(step) == 1:
            continue
        related = (backward[0].span,)
        for divided in step.of("divide_loss"):
            text = str(known_word(divided, "by_text"))
            if ACCUMULATES.search(text) and "times" not in divided.detail:
                yield Finding(
                    span=divided.span,
                    message=f"the loss is divided by {text}, and accelerator.backward divides it "
                    "again",
                    hint="remove the division",
                    related=related,
                )
        for event in _own_tests(step):
            yield Finding(
                span=event.span,
                message="the loop steps only at the end of a window, but accumulate() already does "
                "this",
                hint="call step() for every micro-batch: Accelerate skips it within a window",
                related=related,
            )


def _own_tests(step: TrainingStep) -> Iterator[Event]:
    for event in step.inside("step"):
        test = event.window
        own = test is not None and bool(test.counter) and not test.by_caller
        if own and event.context("accumulate"):
            yield event


RULE = Rule("CL116", check, hints=("accumulate(",))
