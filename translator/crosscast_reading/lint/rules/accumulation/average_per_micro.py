"""CL115: an average of the weights is updated after every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, implies, own_windows, window_steps
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find averages that are updated while the weights do not change."""
    for step in window_steps(subject):
        if not own_windows(step) or not end_tests(step):
            continue
        backward = backward_of(step)
        for event in step.inside("average_weights"):
            if event.window is None and all(implies(candidate, event) for candidate in backward):
                yield Finding(
                    span=event.span,
                    message="the average of the weights is updated after every micro-batch, but "
                    "the weights change only once per window",
                    hint="update it right after the optimizer step",
                    related=(end_tests(step)[0][0].span,),
                )


RULE = Rule("CL115", check, hints=("ema", "EMA", "update_parameters", "average", "Ema"))
