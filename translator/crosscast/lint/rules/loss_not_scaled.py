"""CL211: a scaler steps after a loss that was not scaled."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import AMP, changed
from crosscast.lint.rules._loop import (
    backward_of,
    compatible,
    eager_steps,
    implies,
    plain_scaler,
    scaler_names,
)
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject


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


RULE = Rule(
    code="CL211",
    name="loss-not-scaled",
    topic="loss scaling",
    severity=Severity.ERROR,
    title="The scaler steps, but the loss was never scaled",
    why="A scaler that has not scaled any loss fails at its first step. If it has scaled another "
    "loss, it divides these gradients by 65536.",
    wrong=changed(AMP, ("scaler.scale(loss).backward()", "loss.backward()")),
    right=AMP,
    check=check,
    hints=("Scaler",),
    sources=("torch 2.13 amp/grad_scaler.py",),
)
