"""CL204: the gradients of a scaled loss are applied without the scaler."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import (
    backward_of,
    compatible,
    eager_steps,
    implies,
    plain_scaler,
    unscaled_before,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find plain steps that follow a scaled backward pass in every iteration."""
    for step in eager_steps(subject):
        scaled = [event for event in backward_of(step) if plain_scaler(event)]
        for applied in step.of("step"):
            if applied.scaler or applied.library or _is_stepped_by_scaler(applied, step):
                continue
            before = [
                event
                for event in scaled
                if event.order < applied.order and implies(event, applied, windows=True)
            ]
            if before and not unscaled_before(step, applied):
                yield Finding(
                    span=applied.span,
                    message=f"{applied.subject} applies gradients that are still multiplied by the "
                    f"loss scale of {before[-1].scaler}",
                    hint=f"write `{before[-1].scaler}.step({applied.subject})`",
                    related=(before[-1].span,),
                )


def _is_stepped_by_scaler(applied: Event, step: TrainingStep) -> bool:
    """Whether a scaler has stepped with the same gradients (reported by another rule)."""
    return any(
        event.scaler and event.subject == applied.subject and compatible(event, applied)
        for event in step.of("step")
    )


RULE = Rule("CL204", check, hints=("scale(",))
