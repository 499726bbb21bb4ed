"""CL203: the loss scale is updated once for every optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps, plain_scaler
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import names_in
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find two updates of one scaler in an iteration, each after the step of another optimizer."""
    for step in eager_steps(subject):
        yield from _looped(step)
        updates = [event for event in step.inside("update_scale") if plain_scaler(event)]
        for first, second in pairwise(updates):
            if first.scaler != second.scaler:
                continue
            if not compatible(first, second) or first.loops != second.loops:
                continue
            mine = [event for event in step.inside("step") if event.scaler == first.scaler]
            before = [event for event in mine if event.order < first.order]
            between = [event for event in mine if first.order < event.order < second.order]
            if not between or not before or between[0].subject == before[-1].subject:
                continue
            again = any(first.order < event.order < second.order for event in backward_of(step))
            yield Finding(
                span=second.span,
                message=f"{first.scaler} is updated a second time in the same iteration, for "
                f"{between[0].subject}",
                hint="update it once, after the last step",
                related=(first.span,),
                severity=Severity.NOTE if again else None,
            )


def _looped(step: TrainingStep) -> Iterator[Finding]:
    """Find updates in a loop over the optimizers of one backward pass."""
    around = {id(loop.node) for event in step.of("backward") for loop in event.loops}
    for update in step.inside("update_scale"):
        inner = update.loops[-1] if update.loops else None
        if inner is None or id(inner.node) in around or not plain_scaler(update):
            continue
        applied = [
            event
            for event in step.inside("step")
            if event.loops == update.loops and event.scaler == update.scaler
        ]
        if any(_steps_others(event, inner.node) for event in applied):
            yield Finding(
                span=update.span,
                message=f"{update.scaler} is updated once for every optimizer of {inner.over}",
                hint="update it once, after the loop",
                related=(applied[0].span,),
            )


def _steps_others(applied: Event, loop: ast.For | ast.While | ast.AsyncFor) -> bool:
    """Whether every iteration of a loop steps another optimizer."""
    match loop, applied.node:
        case ast.For(target=target), ast.Call(args=arguments):
            return not names_in(target).isdisjoint(names_in(*arguments))
    return False


RULE = Rule("CL203", check, hints=("update(",))
