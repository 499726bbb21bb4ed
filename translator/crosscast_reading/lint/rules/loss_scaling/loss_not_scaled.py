"""CL211: a scaler steps after a loss that was not scaled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import (
    MAY_SWITCH_SCALER,
    backward_of,
    compatible,
    eager_steps,
    implies,
    plain_scaler,
    scaler_names,
    trained_passes,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find plain backward passes whose gradients a scaler certainly unscales."""
    for step in eager_steps(subject):
        backward = backward_of(step)
        for applied in step.of("step"):
            if not plain_scaler(applied) or not scaler_names(applied):
                continue
            before = [
                event
                for event in backward
                if event.order < applied.order
                and not event.scaler
                and not event.library
                and implies(event, applied, windows=True)
            ]
            scaled = any(event.scaler and compatible(event, applied) for event in backward)
            if before and not scaled:
                yield Finding(
                    span=before[-1].span,
                    message=f"the loss is not scaled, but {applied.scaler} divides its gradients "
                    "by the loss scale",
                    hint=f"write `{applied.scaler}.scale(loss).backward()`",
                    related=(applied.span,),
                )
        yield from _added_to_scaled(step, backward)


def _added_to_scaled(step: TrainingStep, backward: list[Event]) -> Iterator[Finding]:
    """Find plain passes whose gradients are added to scaled ones of the only optimizer."""
    applied = step.of("step")
    scaled = [event for event in backward if plain_scaler(event) and not event.guards]
    if not scaled or len({event.subject for event in applied}) != 1:
        return
    if not all(plain_scaler(event) and scaler_names(event) for event in applied):
        return
    if len({event.subject for event in trained_passes(step)}) != 1:
        return  # the gradients may be those of another model
    for plain in backward:
        if plain.scaler or plain.library or not plain.guards:
            continue
        if any(MAY_SWITCH_SCALER.search(guard.text) for guard in plain.guards):
            continue
        if any(isinstance(node, ast.BinOp) for node in walk(plain.node)):
            continue  # maybe of a product: a scale by hand
        first, last = sorted((scaled[0].order, plain.order))
        cleared = any(first < event.order < last for event in step.of("zero_grad"))
        if not cleared and all(event.order > last for event in applied):
            yield Finding(
                span=plain.span,
                message="the loss is not scaled, but its gradients are added to scaled ones, "
                "beside which they are nothing",
                hint=f"write `{scaled[0].scaler}.scale(loss).backward()`",
                related=(scaled[0].span,),
            )


RULE = Rule("CL211", check, hints=("Scaler",))
