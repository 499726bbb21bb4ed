"""CL111: the same gradients are applied twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, implies
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event

_SCALERS = re.compile(r"scal|amp|accelerat", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find two steps of one optimizer without a backward or zero_grad between them."""
    for step in eager_steps(subject):
        backward = backward_of(step)
        applied = [event for event in step.inside("step") if event.subject]
        for subject_name in dict.fromkeys(event.subject for event in applied):
            mine = [event for event in applied if event.subject == subject_name]
            for first, second in pairwise(mine):
                between = [
                    event
                    for event in (*step.inside("zero_grad"), *step.inside("backward"))
                    if first.order < event.order < second.order
                ]
                if between or first.node is second.node or first.loops != second.loops:
                    continue
                if not any(event.order < first.order for event in backward):
                    continue
                if _library_of(first) != _library_of(second) or not implies(first, second):
                    continue
                if _may_be_layer(first, second):
                    continue
                yield Finding(
                    span=second.span,
                    message=f"{subject_name} has already applied these gradients",
                    hint="step once",
                    related=(first.span,),
                )


def _may_be_layer(first: Event, second: Event) -> bool:
    """Whether one of both steps may be of a layer that updates weights of its own.

    `head.step(optimizer)` reads as a step by a scaler, as long as the class of `head` is unknown.
    """
    names = {first.scaler, second.scaler}
    return len(names) > 1 and ("" not in names or not _SCALERS.search("".join(names)))


def _library_of(event: Event) -> str:
    """Return the library of a step; Paddle's `minimize` applies gradients as `step` does."""
    return "" if event.library.startswith("paddle") else event.library


RULE = Rule("CL111", check, hints=("step(", "minimize(", "apply_gradients"))
