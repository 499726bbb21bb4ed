"""CL106: gradients of a short last window are thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import EPOCHS, changed
from crosscast.lint.rules._loop import window_steps
from crosscast.lint.rules._tail import open_tails
from crosscast.lint.rules.tail_leaks import RULE as LEAKS
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find epochs that start by clearing what the one before has left."""
    for step in window_steps(subject):
        for event, test, cleared in open_tails(step):
            if cleared:
                yield Finding(
                    span=event.module.span(test.node),
                    message=f"if {test.steps_text} does not divide the batches of an epoch, the "
                    "gradients of the rest are cleared without a step",
                    hint="step at the last batch too",
                    related=tuple(one.span for one in cleared[:1]),
                )


RULE = Rule(
    code="CL106",
    name="tail-dropped",
    topic="accumulation",
    severity=Severity.NOTE,
    title="A short last window is computed and thrown away",
    why="Up to N - 1 batches of every epoch are computed for nothing, always the last ones.",
    wrong=changed(EPOCHS, (" or step + 1 == len(loader)", "")),
    right=LEAKS.right,
    check=check,
    hints=("backward", "scaler"),
)
