"""CL209: a new scaler is created within the loop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, known_word
from crosscast_reading.lint.answers.scalers import scaler_calls, switched_off
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find scalers created in every iteration while the optimizer is kept."""
    for step in eager_steps(subject):
        for event in step.of("make"):
            if known_word(event, "kind") != "scaler":
                continue
            if not all(
                _is_fixed(g.node, event.loops[-1].node, event.subject) for g in event.guards
            ):
                continue
            if _trains_anew(event, step) or not step.of("update_scale"):
                continue
            often = "batch" if step.holds(event) else "iteration of an outer loop"
            yield Finding(
                span=event.span,
                message=f"a new loss scaler is created for every {often}",
                hint="create it once, before the loops",
            )
    yield from _made_in_parts(subject)


def _made_in_parts(subject: Subject) -> Iterator[Finding]:
    """Find scalers created by a function for one epoch or batch and used only there."""
    for call in scaler_calls(subject):
        module = call.module
        function = module.function_of(call.node)
        if function is None or not _PART.search(function.name):
            continue
        match module.statement_of(call.node):
            case ast.Assign(targets=[ast.Name(id=name), *_]) as assignment:
                pass
            case _:
                continue
        if not _is_whole(call.node, assignment) or switched_off(call) is True:
            continue
        around = module.parent(assignment)
        while isinstance(around, ast.If) and _is_fixed(around.test, function, name):
            around = module.parent(around)
        if around is function:
            yield Finding(
                span=module.span(call.node),
                message=f"{function.name} creates a new loss scaler whenever it is called",
                hint="create it once and pass it as an argument",
            )


_PART = re.compile(
    r"(^|_)(one_)?epoch$|^train_(one_)?epoch|(^|_)(train|training|update)_(step|batch)$"
)


def _is_whole(call: ast.Call, assignment: ast.Assign) -> bool:
    """Whether a variable gets the scaler itself: `GradScaler() if half else None`."""
    value = assignment.value
    return call is value or (isinstance(value, ast.IfExp) and call in (value.body, value.orelse))


def _is_fixed(condition: ast.expr, around: ast.AST, scaler: str) -> bool:
    """Whether a condition is the same in every round, as a flag is; not `scaler is None`."""
    changed = {scaler.rpartition(".")[2]}
    for node in walk(around):
        match node:
            case ast.Name(word, ast.Store()) | ast.Attribute(attr=word, ctx=ast.Store()):
                changed.add(word)
    for part in walk(condition):
        match part:
            case ast.Call(func=function) if not _MACHINE.search(ast.unparse(function)):
                return False
            case ast.Name(id=word) | ast.Attribute(attr=word) if word in changed:
                return False
    return True


_MACHINE = re.compile(r"is_available$|is_compiled_with_cuda$|device_count$")
"""Functions that return the same in every round."""


def _trains_anew(event: Event, step: TrainingStep) -> bool:
    """Whether the optimizer is created in the same loop, which starts a new training."""
    loop = event.loops[-1].node
    if any(
        known_word(candidate, "kind") == "optimizer"
        and any(o.node is loop for o in candidate.loops)
        for candidate in step.of("make")
    ):
        return True
    backward = step.of("backward")
    return not all(any(around.node is loop for around in other.loops) for other in backward)


RULE = Rule("CL209", check, hints=("Scaler",))
