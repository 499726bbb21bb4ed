"""CL201: the loss scale is updated after every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import (
    backward_of,
    eager_steps,
    implies,
    own_windows,
    plain_scaler,
)
from crosscast_reading.lint.answers.windows import after_micro_loops, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find updates of the scale that do not wait for the end of the window."""
    for step in eager_steps(subject):
        ends = [
            event for event, test in end_tests(step) if not test.by_caller and own_windows(step)
        ]
        ends = [event for event in ends or after_micro_loops(step) if event.scaler]
        if not ends or len(ends) != len(step.inside("step")):
            continue
        backward = backward_of(step)
        for event in step.inside("update_scale"):
            early = event.window is None and all(
                implies(candidate, event) for candidate in backward
            )
            if early and plain_scaler(event) and event.loops == backward[0].loops:
                yield Finding(
                    span=event.span,
                    message=f"{event.scaler} is updated after every micro-batch, but steps once "
                    "per window",
                    hint="update it right after its step",
                    related=(ends[0].span,),
                )


RULE = Rule("CL201", check, hints=("update(",))
