"""CL504: the schedule advances when the scaler skips a step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import compatible, eager_steps, plain_scaler
from crosscast_reading.lint.answers.schedules import is_schedule
from crosscast_reading.lint.answers.windows import modules_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.sources.subject import Subject

_NOTICES = re.compile(r"get_scale\(|_scale\b.*[<>]|found_inf|step_was_skipped|skipped|overflow")


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules next to a scaler's step that do not check whether it was skipped."""
    for step in eager_steps(subject):
        applied = [candidate for candidate in step.inside("step") if plain_scaler(candidate)]
        if not applied or any(map(_notices, modules_of(step))):
            continue
        for event in step.inside("schedule"):
            before = [e for e in applied if e.order < event.order and compatible(e, event)]
            if is_schedule(event) and before:
                yield Finding(
                    span=event.span,
                    message=f"{event.subject} advances even if {before[0].scaler} skips the step",
                    hint="step it only if the scale did not decrease",
                    related=(before[0].span,),
                )
                break


@once
def _notices(module: Module) -> bool:
    """Whether a module may find out that a step was skipped."""
    return _NOTICES.search(module.code) is not None


RULE = Rule("CL504", check, hints=("Scaler",))
