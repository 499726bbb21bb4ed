"""CL106: gradients of a short last window are discarded."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import window_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.accumulation._tail import open_tails
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find epochs that start by clearing the remaining gradients of the previous one."""
    for step in window_steps(subject):
        for event, test, cleared in open_tails(step):
            if cleared:
                yield Finding(
                    span=event.module.span(test.node),
                    message="if the number of batches per epoch is not a multiple of "
                    f"{test.steps_text}, the gradients of the remainder are cleared without "
                    "a step",
                    hint="also step at the last batch",
                    related=tuple(candidate.span for candidate in cleared[:1]),
                )


RULE = Rule("CL106", check, hints=("backward", "scaler"))
