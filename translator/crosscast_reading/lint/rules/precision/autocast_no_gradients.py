"""CL406: only a forward pass without gradients runs in autocast."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event

_ENTERED = frozenset({"autocast", "auto_cast", "amp_guard", "custom_fwd"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that scale the loss of a pass outside of autocast, which another pass is in."""
    program = subject.program
    for step in eager_steps(subject):
        passes = step.inside("forward")
        inside = [event for event in passes if event.context("autocast") is not None]
        if not inside or any(event.context("no_grad") is None for event in inside):
            continue
        models = {event.subject for event in inside}
        outside = [e for e in passes if e not in inside and e.context("no_grad") is None]
        trained = [event for event in outside if event.subject in models]
        if not trained or not any(event.scaler for event in step.inside("backward")):
            continue
        if _is_entered_elsewhere(program, inside):
            continue
        yield Finding(
            span=trained[0].span,
            message=f"{trained[0].subject} runs in float32 where it gets gradients: autocast is "
            "only around a pass without them",
            hint="enter autocast for this pass as well",
            related=(inside[0].span,),
        )


def _is_entered_elsewhere(program: Program, inside: list[Event]) -> bool:
    """Whether something else in the program may enter autocast, such as the model itself."""
    contexts = [event.context("autocast") for event in inside]
    known = {node for each in contexts if each is not None for node in ast.walk(each.node)}
    return any(
        identifier(node) in _ENTERED and node not in known
        for module in program.modules
        for kind in (ast.Name, ast.Attribute)
        for node in module.every(kind)
    )


RULE = Rule("CL406", check, hints=("autocast", "auto_cast"))
