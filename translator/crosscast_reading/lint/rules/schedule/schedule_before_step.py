"""CL501: the schedule advances before the optimizer steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import asks_settings, backward_of, compatible, eager_steps
from crosscast_reading.lint.answers.schedules import is_paddle_schedule, is_schedule
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find schedules that advance before the optimizer steps in every iteration or epoch."""
    for step in eager_steps(subject):
        backward = backward_of(step)
        for event in step.of("schedule"):
            steps = is_schedule(event) or is_paddle_schedule(event)
            if not steps or "argument" in event.detail or not backward:
                continue
            later = _later(event, step)
            if later is not None:
                yield Finding(
                    span=event.span,
                    message=f"{event.subject} advances before {later.subject or 'the optimizer'} "
                    "steps",
                    hint="step the optimizer first",
                    related=(later.span,),
                )


def _later(event: Event, step: TrainingStep) -> Event | None:
    """Return the step that comes after the schedule, if none comes before it."""
    applied = [candidate for candidate in step.inside("step") if compatible(candidate, event)]
    if not applied:
        return None
    if step.holds(event):
        same = [candidate for candidate in applied if candidate.loops == event.loops]
        if any(candidate.order < event.order for candidate in same):
            return None
        ends = [
            candidate for candidate in same if (candidate.window is None) == (event.window is None)
        ]
        return ends[0] if ends else None
    outer = {id(loop.node) for loop in applied[0].loops}
    inner = event.loops and all(id(loop.node) in outer for loop in event.loops)
    settings = all(asks_settings(guard.node) for guard in event.guards)
    if not inner or event.order > applied[0].order or not settings:
        return None
    around = step.around("schedule")
    return applied[0] if len(around) == 1 and isinstance(event.node, ast.Call) else None


RULE = Rule("CL501", check, hints=("step(",))
