"""CL502: the schedule advances after every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, implies, own_windows
from crosscast_reading.lint.answers.schedules import is_schedule
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules that, unlike the optimizer, do not wait for the end of a window."""
    for step in eager_steps(subject):
        ends = end_tests(step)
        if not own_windows(step) or not ends or len(ends) != len(step.inside("step")):
            continue
        backward = backward_of(step)
        for event in step.inside("schedule"):
            if not is_schedule(event) or "argument" in event.detail or event.window is not None:
                continue
            elsewhere = all(event.excludes(other) for other in step.inside("step"))
            if all(
                implies(candidate, event, windows=elsewhere) and candidate.loops == event.loops
                for candidate in backward
            ):
                when = "after the micro-batches without an update" if elsewhere else ""
                yield Finding(
                    span=event.span,
                    message=f"{event.subject} advances {when or 'after every micro-batch'}, the "
                    f"optimizer once in {ends[0][1].steps_text}",
                    hint="step it with the optimizer, or specify its length in micro-batches",
                    related=(ends[0][0].span,),
                )


RULE = Rule("CL502", check, hints=("step(",))
