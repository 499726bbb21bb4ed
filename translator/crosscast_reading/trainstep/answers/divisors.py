"""What the losses of every round are divided by, where the number depends on the round.

The divisor is computed for every micro-batch of epochs of several lengths: `steps if step < whole
else rest` is then seen to be one number for a window, or to change within it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.events import Event, TrainingStep, WindowTest

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_MOST = 16
"""Longer windows are not computed."""
_USUAL = 4
"""Micro-batches of a window whose length is not known."""
_DEPTH = 8
_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLED: Mapping[str, Callable[..., float]] = {"min": min, "max": max, "int": int, "float": float}


@dataclass(frozen=True, slots=True, kw_only=True)
class Divisors:
    """The divisors of windows.

    `changes`: length of an epoch and divisors of one of its windows that are not all the same.
    `follows`: whether the divisor always is the number of micro-batches of the window. `averages`:
    whether that of full windows at the start of an epoch is.
    """

    event: Event
    changes: tuple[int, tuple[float, ...]] | None
    follows: bool
    averages: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    counter: str
    step: int
    length: int
    over: str
    steps: int
    texts: frozenset[str]
    loop: ast.AST


class _UnknownError(Exception):
    """A number that is not known."""


def divisors_of(step: TrainingStep, tests: list[tuple[Event, WindowTest]]) -> Divisors | None:
    """Return the divisors of losses; None if they are not known of every round."""
    if step.loop is None or len({test.key for _, test in tests}) != 1:
        return None
    test = tests[0][1]
    if test.aligned is not True or test.restarts is not True or test.counter != step.loop.counter:
        return None
    known = test.steps.value if isinstance(test.steps, Known) else None
    steps = known if isinstance(known, int) and 1 < known <= _MOST else _USUAL
    if isinstance(known, int) and steps != known:
        return None
    flushed = test.last or any(each.last for _, each in tests)
    for event in step.inside("divide_loss"):
        by = divisor(event.node)
        if by is None or not any(loop.node is step.loop.node for loop in event.loops):
            continue
        try:
            return _computed(event, by, step, test, steps, flushed)
        except (_UnknownError, ZeroDivisionError):
            continue
    return None


def divisor(node: ast.AST) -> ast.expr | None:
    """Return the divisor of a division."""
    match node:
        case ast.BinOp(op=ast.Div(), right=by) | ast.AugAssign(op=ast.Div(), value=by):
            return by
        case ast.Call(args=[*_, by]):
            return by
    return None


def _computed(
    event: Event, by: ast.expr, step: TrainingStep, test: WindowTest, steps: int, flushed: bool
) -> Divisors:
    assert step.loop is not None
    follows, averages, changes = True, True, None
    for length in range(2 * steps + 1, 3 * steps + 1):
        last = length if flushed else length - length % steps
        for start in range(0, last, steps):
            window = range(start, min(start + steps, length))
            divisors = tuple(
                _number(
                    by,
                    event.module,
                    _Round(
                        counter=step.loop.counter,
                        step=number + step.loop.start,
                        length=length,
                        over=step.loop.over,
                        steps=steps,
                        texts=frozenset({test.steps_text, test.key}),
                        loop=step.loop.node,
                    ),
                )
                for number in window
            )
            if len(set(divisors)) > 1 and changes is None:
                changes = (length, divisors)
            follows = follows and set(divisors) == {len(window)}
            averages = averages and (start > 0 or set(divisors) == {steps})
    return Divisors(event=event, changes=changes, follows=follows, averages=averages)


def _number(node: ast.expr, module: Module, at: _Round, depth: int = 0) -> float:
    """Return an expression in one round of an epoch."""
    if depth > _DEPTH:
        raise _UnknownError
    if module.text(node) in at.texts:
        return at.steps
    inner = depth + 1
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name == at.counter:
            return at.step
        case ast.Name():
            return _named(node, module, at, inner)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _number(operand, module, at, inner)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, module, at, inner)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            values = (_number(side, module, at, inner) for side in (left, right))
            return _BINARY[type(sign)](*values)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARED:
            values = (_number(side, module, at, inner) for side in (left, right))
            return _COMPARED[type(sign)](*values)
        case ast.BoolOp(op=sign, values=parts):
            truths = [bool(_number(part, module, at, inner)) for part in parts]
            return all(truths) if isinstance(sign, ast.And) else any(truths)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            chosen = body if _number(test, module, at, inner) else orelse
            return _number(chosen, module, at, inner)
        case ast.Call(func=ast.Name(id="len"), args=[of]) if module.text(of) in at.over:
            return at.length
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _CALLED:
            return _CALLED[name](*(_number(argument, module, at, inner) for argument in given))
    raise _UnknownError


def _named(node: ast.Name, module: Module, at: _Round, depth: int) -> float:
    """Return a variable that is assigned before, maybe under conditions."""
    value: float | None = None
    bindings = sorted(definitions(node, module), key=lambda each: getattr(each.node, "lineno", 0))
    for binding in bindings:
        if binding.assigned is None or binding.module is not module:
            raise _UnknownError
        if _holds(binding.node, module, at, depth):
            value = _number(binding.assigned, module, at, depth)
    if value is None:
        raise _UnknownError
    return value


def _holds(node: ast.AST, module: Module, at: _Round, depth: int) -> bool:
    """Whether the conditions around a statement in the loop let it run in this round."""
    here = module.enclosing(node, ast.If, ast.For, ast.While, ast.FunctionDef)
    while isinstance(here, ast.If):
        inside = any(node in walk(part) for part in here.body)
        if bool(_number(here.test, module, at, depth)) is not inside:
            return False
        here = module.enclosing(here, ast.If, ast.For, ast.While, ast.FunctionDef)
    return True
