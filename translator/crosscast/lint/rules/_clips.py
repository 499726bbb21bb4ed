"""Clipping of gradients that are still multiplied by the loss scale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.edits.edit import Edit
from crosscast.edits.node_edits import insert
from crosscast.lint.rules._loop import (
    compatible,
    eager_steps,
    known_word,
    plain_scaler,
)
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import Event, TrainingStep


def scaled_clips(subject: Subject, *, by_value: bool) -> Iterator[tuple[Event, Event]]:
    """Yield every clip of scaled gradients with the step that applies them."""
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            if clip.library or (known_word(clip, "kind") == "value") != by_value:
                continue
            if "masters" in clip.detail or "scale" in str(known_word(clip, "max_text")).lower():
                continue
            applied = _applied(step, clip)
            if applied is not None:
                yield clip, applied


def clips_in_scale_loss(subject: Subject, *, by_value: bool) -> Iterator[tuple[Event, Event]]:
    """Yield every clip inside apex's `scale_loss` with the preceding backward pass.

    The gradients are unscaled at the end of that block.
    """
    for step in eager_steps(subject):
        for clip in step.of("clip"):
            scale = clip.context("scale_loss")
            if scale is None or (known_word(clip, "kind") == "value") != by_value:
                continue
            for event in step.of("backward"):
                if scale in event.contexts and event.order < clip.order:
                    yield clip, event
                    break


def clips_of_engines(subject: Subject) -> Iterator[tuple[Event, Event]]:
    """Yield every clip between the backward pass and the step of a DeepSpeed engine, and the step.

    The engine keeps the gradients, multiplied by the loss scale, and divides them in its step.
    """
    for step in subject.steps:
        for clip in step.of("clip"):
            around = {
                (event.kind, event.order < clip.order): event
                for event in step.of("backward", "step")
                if event.library == "deepspeed" and compatible(event, clip)
            }
            if ("backward", True) in around and ("step", False) in around:
                yield clip, around["step", False]


def _applied(step: TrainingStep, clip: Event) -> Event | None:
    """Return the step of a scaler that applies the clipped gradients, still scaled.

    Every step is looked at on its own way through the loop: what happens under conditions that
    exclude the step says nothing about it, such as a backward pass without half precision.
    """
    after = [o for o in step.of("step") if o.order > clip.order and compatible(clip, o)]
    for place, applied in enumerate(after):
        if any(compatible(other, applied) for other in after[:place]):
            continue  # the clip is of the step before
        if not applied.scaler or not plain_scaler(applied):
            continue
        before = [
            event
            for event in step.of("backward", "unscale")
            if event.order < clip.order
            and compatible(event, clip)
            and compatible(event, applied)
            and "functional" not in event.detail
        ]
        backward = [event for event in before if event.kind == "backward"]
        if not backward or len(backward) < len(before) or not plain_scaler(backward[-1]):
            continue
        return applied
    return None


def unscale_edit(clip: Event, applied: Event) -> tuple[Edit, ...]:
    """Return the line `scaler.unscale_(optimizer)` before a clip that is a separate statement.

    Empty if the names are not available in the function.
    """
    module = clip.module
    statement = module.statement_of(clip.node)
    same = module.function_of(clip.node) is applied.module.function_of(applied.node)
    match statement, applied.node:
        case ast.Expr() | ast.Assign(), ast.Call(func=ast.Attribute(value=scaler), args=[given]):
            row = module.lines[statement.lineno - 1]
            indent = row[: len(row) - len(row.lstrip())]
            if not same or not module.text(statement).startswith(row.strip()[:1]):
                return ()
            line = f"{indent}{module.text(scaler)}.unscale_({module.text(given)})\n"
            return (insert(module, statement.lineno, 1, line),)
    return ()
