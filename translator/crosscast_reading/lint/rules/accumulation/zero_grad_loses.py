"""CL108: gradients are cleared before they are applied."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, implies
from crosscast_reading.lint.answers.windows import accelerator_steps, clears_all, loses_window
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find gradients that are cleared between backward and step."""
    for step in eager_steps(subject):
        for cleared in step.inside("zero_grad") if step.loop is not None else ():
            if not clears_all(cleared, step):
                continue
            if _as_last_begins(cleared, step):
                yield Finding(
                    span=cleared.span,
                    message="accumulate() lets zero_grad act when the last micro-batch of a window "
                    "begins: the gradients of all others are lost",
                    hint="call it right after the step of the optimizer",
                    related=tuple(event.span for event in step.inside("step")[:1]),
                )
                continue
            alone = _empty_step(cleared, step)
            applied = alone or _each_micro(cleared, step)
            if applied is not None:
                only = alone is not None and applied.window is None
                yield Finding(
                    span=cleared.span,
                    message=f"the gradients are cleared before {applied.subject or 'the optimizer'}"
                    " steps" + ("" if only else ", those of the whole window"),
                    hint="clear them right after the step, or before the first backward pass",
                    related=(applied.span,),
                )


def _empty_step(cleared: Event, step: TrainingStep) -> Event | None:
    """Return the step without gradients: backward, zero_grad, step in every iteration."""
    before = [event for event in backward_of(step) if event.order < cleared.order]
    later = [event for event in step.inside("backward") if event.order > cleared.order]
    applied = [event for event in step.inside("step") if event.order > cleared.order]
    if not before or later or not applied:
        return None
    if any(event.order < cleared.order for event in step.inside("step", "accumulate")):
        return None
    return applied[0] if all(implies(event, cleared) for event in applied) else None


def _as_last_begins(cleared: Event, step: TrainingStep) -> bool:
    """Whether Accelerate's `zero_grad` stands before the backward pass of its window.

    It acts when `sync_gradients` is set, and `accumulate()` sets that as it enters the last round.
    """
    context = cleared.context("accumulate")
    if context is None or accelerator_steps(step) == 1:
        return False
    backward = backward_of(step)
    return all(
        cleared.order < event.order and context in event.contexts and implies(event, cleared)
        for event in backward
    )


def _each_micro(cleared: Event, step: TrainingStep) -> Event | None:
    """Return the step of a window with only the gradients of the last micro-batch."""
    applied = (event for event in step.inside("step") if loses_window(cleared, event, step))
    return next(applied, None)


RULE = Rule("CL108", check, hints=("zero_grad", "clear_grad"))
