"""CL213: apex discards the gradients of earlier micro-batches or never reduces them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows with apex.amp that delay the all-reduce but not the unscaling."""
    for step in eager_steps(subject):
        for backward in step.of("backward"):
            context = backward.context("scale_loss")
            if context is None or not step.windowed or "delay_unscale" in context.detail:
                continue
            waits = _waiting(step, backward)
            if waits is not None:
                yield Finding(
                    span=backward.module.span(context.node),
                    message="the gradients are unscaled after every micro-batch of a window "
                    "without all-reduce, so those of earlier micro-batches are never "
                    "reduced",
                    hint="pass `delay_unscale=True` for all but the last micro-batch",
                    related=(waits,) if waits != backward.span else (),
                )


def _waiting(step: TrainingStep, backward: Event) -> Span | None:
    """Return where the all-reduce is delayed: `no_sync`, or `disable_allreduce`."""
    context = backward.context("no_sync")
    if context is not None:
        return backward.module.owner_of(context.node).span(context.node)
    loop = step.loop.node if step.loop is not None else step.module.tree
    for node in walk(loop):
        match node:
            case ast.Call(func=ast.Attribute(attr="disable_allreduce")):
                return step.module.span(node)
    return None


RULE = Rule("CL213", check, hints=("scale_loss",))
