"""Losses whose sum over a window is averaged for a message, but not for the gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.answers.differentiated import loss_expression
from crosscast_reading.trainstep.events import Event, TrainingStep

_READS = frozenset({"item", "detach", "cpu", "float", "numpy", "data", "clone"})


def averaged_for_a_message(step: TrainingStep, backward: Event) -> bool:
    """Whether the sum of the losses of a window is divided by its length, for a message.

    The program takes the loss of a window for the mean of those of its micro-batches then.
    """
    loss = loss_expression(backward)
    if not isinstance(loss, ast.Name):
        return False
    totals = {
        event.subject
        for event in step.inside("sum_loss")
        if _is_read_off(_added(event), loss.id, event.module)
    }
    return any(
        total in totals and by == test.steps_text
        for event, test in end_tests(step)
        if not test.by_caller
        for total, by in _divisions(_statements_under(test.node, event.module), event.module)
    )


def _added(event: Event) -> ast.expr | None:
    return event.node.value if isinstance(event.node, ast.AugAssign) else None


def _is_read_off(node: ast.expr | None, loss: str, module: Module) -> bool:
    """Whether an expression is the number of a loss: `loss.detach().item()`, or a name of it."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[]) if method in _READS:
            return _is_read_off(inner, loss, module)
        case ast.Call(func=ast.Name(id="float"), args=[inner]):
            return _is_read_off(inner, loss, module)
        case ast.Attribute(value=inner, attr="data"):
            return _is_read_off(inner, loss, module)
        case ast.Name(id=name) if name == loss:
            return True
        case ast.Name():
            match definitions(node, module):
                case [Binding(assigned=ast.Call() as value)]:
                    return _is_read_off(value, loss, module)
    return False


def _statements_under(test: ast.expr, module: Module) -> list[ast.stmt]:
    """Return the statements under a condition."""
    around = module.parent(test)
    return around.body if isinstance(around, ast.If) and around.test is test else []


def _divisions(body: list[ast.stmt], module: Module) -> Iterator[tuple[str, str]]:
    for node in (each for statement in body for each in walk(statement)):
        match node:
            case ast.AugAssign(target=left, op=ast.Div(), value=right):
                yield module.text(left), module.text(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                yield module.text(left), module.text(right)
