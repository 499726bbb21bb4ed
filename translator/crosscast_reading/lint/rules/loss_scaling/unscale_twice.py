"""CL205: gradients are unscaled twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from crosscast_reading.lint.answers.loop import (
    backward_of,
    eager_steps,
    implies,
    own_windows,
    plain_scaler,
    scaler_names,
)
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find two calls of `unscale_` for one optimizer without an update between them."""
    for step in eager_steps(subject):
        calls = [
            event
            for event in step.inside("unscale")
            if plain_scaler(event) and "minimize" not in event.detail and scaler_names(event)
        ]
        for first, second in combinations(calls, 2):
            if _is_repeated(first, second, step):
                yield Finding(
                    span=second.span,
                    message=f"{second.scaler} has already unscaled the gradients of "
                    f"{second.subject}",
                    hint="call it once before the step",
                    related=(first.span,),
                )
        for call in calls:
            if _each_micro(call, step):
                yield Finding(
                    span=call.span,
                    message=f"the gradients of {call.subject} are unscaled after every micro-batch "
                    "of a window",
                    hint="unscale once, at the end of the window",
                    related=tuple(event.span for event in step.inside("step")[:1]),
                )


def _is_repeated(first: Event, second: Event, step: TrainingStep) -> bool:
    if (first.scaler, first.subject) != (second.scaler, second.subject):
        return False
    if first.node is second.node or not implies(second, first) or not first.subject:
        return False
    return not any(
        first.order < event.order < second.order
        for event in step.inside("update_scale", "backward")
    )


def _each_micro(call: Event, step: TrainingStep) -> bool:
    if not own_windows(step) or not end_tests(step) or call.window is not None:
        return False
    if any(event.window is None for event in step.inside("step", "update_scale")):
        return False
    backward = backward_of(step)
    return all(implies(event, call) and event.loops == call.loops for event in backward)


RULE = Rule("CL205", check, hints=("unscale_",))
