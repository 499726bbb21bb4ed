"""What a training loop shows by not doing it, and why some loops show nothing.

A loop that computes gradients, steps an optimizer and calls nothing in between that was not
understood does not clip: that is read from it, with its place. Otherwise nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Confidence
from crosscast_reading.readers.python.library_fits import Fit, fit_of
from crosscast_reading.readers.python.process_signs import sign_of_processes
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.answers.main_loop import by_weight
from crosscast_reading.trainstep.events import Event, TrainingStep

Aspect = Literal[
    "precision",
    "accumulation",
    "clipping",
    "schedule",
    "average",
    "processes",
    "groups",
    "tail",
]
_GUARDED_BY_SCALE = re.compile(
    r"skip|overflow|get_scale|found_inf|fin(?:ite)?\b|isfinite|isnan|isinf|nan\b|has_inf", re.I
)
"""Conditions that leave out a step whose gradients are not finite; they make no window."""
NO_LOOP = "no training loop in the sources"


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a loop shows that something is not there, or why it does not show it."""

    places: tuple[Span, ...] = ()
    seen: str = NO_LOOP
    """What was seen instead and not understood; empty if the loop shows it."""
    confidence: Confidence = "certain"


class Coverage:
    """What the training loop of a group of sources shows."""

    def __init__(self, subject: Subject | None = None) -> None:
        self._subject = subject
        steps = by_weight(subject.steps) if subject is not None else []
        self._step = steps[0] if steps else None
        self._fit: Fit | None = None
        if subject is not None:
            self._fit = fit_of(subject.program)
        self._found: dict[Aspect, Shown] = {}

    def of(self, aspect: Aspect) -> Shown:
        """Return the evidence of an aspect in the loop."""
        if aspect not in self._found:
            self._found[aspect] = self._look(aspect)
        return self._found[aspect]

    def _look(self, aspect: Aspect) -> Shown:
        subject = self._subject
        if subject is None:
            return Shown()
        started = [command.program for command in subject.commands if command.program]
        if not subject.program.modules:
            return Shown(seen=f"{started[0]} was not read" if started else NO_LOOP)
        if aspect == "processes" and (sign := sign_of_processes(subject.program)) is not None:
            return Shown((sign.place,), f"{sign.text}: the launch decides")
        step = self._step
        if step is None:
            return _of_fit(aspect, self._fit)
        return _of_step(aspect, step, self._fit)


def _of_fit(aspect: Aspect, fit: Fit | None) -> Shown:
    """Return the evidence of an aspect in a call of `fit`, where a library trains the model."""
    if fit is None:
        return Shown()
    if aspect in ("schedule", "average") and fit.callbacks:
        return Shown((fit.at_callbacks or fit.place,), f"{fit.callbacks} is not followed")
    if aspect == "tail" and fit.cuts is not None:
        return Shown((fit.cuts,), "drop_remainder")
    return Shown((fit.place,), "")


def _of_step(aspect: Aspect, step: TrainingStep, fit: Fit | None) -> Shown:
    backward = [event for event in step.of("backward") if event.by_default]
    steps = [event for event in step.of("step") if event.by_default]
    if not backward:
        return Shown()
    if not steps:
        return Shown((backward[0].span,), "no step of an optimizer was seen behind it")
    if aspect in ("precision", "processes"):
        return Shown((backward[0].span,), "")
    if aspect == "accumulation":
        return _each_step(backward, steps)
    if aspect == "tail":
        return Shown((steps[-1].span,), "what happens to a short last window was not read")
    if aspect in ("schedule", "average") and fit is not None and fit.callbacks:
        return Shown((fit.at_callbacks or fit.place,), f"{fit.callbacks} is not followed")
    if aspect == "average" and (averaged := step.of("average_weights")):
        return Shown((averaged[0].span,), "weights are averaged; the decay was not read")
    first, last = backward[0].order, steps[-1].order
    for code in step.unfollowed:
        if _TOUCHES[aspect](code.touched, code.order, first, last):
            return Shown((code.span,), f"{code.text} is not followed")
    return Shown((steps[-1].span,), "")


_TOUCHES: dict[Aspect, Callable[[str, int, int, int], bool]] = {
    "clipping": lambda touched, order, first, last: first < order <= last,
    "schedule": lambda touched, order, first, last: touched == "optimizer",
    "average": lambda touched, order, first, last: touched == "weights" and order > first,
    "groups": lambda touched, order, first, last: False,
    "tail": lambda touched, order, first, last: False,
}
"""Whether code that was not understood may do something, from what it gets and where it stands."""


def _each_step(backward: Sequence[Event], steps: Sequence[Event]) -> Shown:
    """Return whether every backward pass is followed by a step."""
    shared = {id(guard.node) for event in backward for guard in event.guards}
    asked = [list(_conditions(event, shared)) for event in steps]
    if any(not guards for guards in asked) or any(a.excludes(b) for a in steps for b in steps):
        return Shown((steps[-1].span,), "")
    text = asked[0][0]
    return Shown((steps[0].span,), f"it steps only if {text}")


def _conditions(event: Event, shared: set[int]) -> Iterator[str]:
    """Yield the conditions of a step that its backward pass has not, and that are not known."""
    for guard in event.guards:
        if id(guard.node) in shared or guard.value is not None:
            continue
        if not _GUARDED_BY_SCALE.search(guard.text):
            yield guard.words
