"""The peak rate of schedules: an argument, the first of several values, a factor of a formula."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import canonical, last, plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

    Base = tuple[ast.expr, Module]

_PEAK = re.compile(
    r"(peak|max|base)_(lr|learning_rate)|(lr|learning_rate)_(peak|max|base)|learning_rate_base|lr_max",
    re.I,
)
_VALUES = frozenset(
    {
        *("PiecewiseConstantDecay", "piecewise_constant_decay"),
        *("PiecewiseDecay", "piecewise_decay"),
    }
)
_MULTIPLIES = ("scalar_mul", "multiply")


def of_values(call: Call, name: str) -> Base | None:
    """Return the first rate of `PiecewiseDecay(boundaries, values)`, and of Keras' class.

    The call, of which no number is known, if a later rate is higher.
    """
    if last(canonical(name)) not in _VALUES:
        return None
    given = call.bound().get("values", next(iter(call.node.args[1:2]), None))
    for node, module in chase(given, call.module) if given is not None else ():
        match node:
            case ast.List(elts=[first, *later]) | ast.Tuple(elts=[first, *later]):
                rises = any(_is_above(each, first, module) for each in later)
                return (call.node, call.module) if rises else (first, module)
    return None


def _is_above(later: ast.expr, first: ast.expr, module: Module) -> bool:
    """Whether a rate is above the first, or certainly a multiple of it: `base * 10`."""
    rate, begun = (plain(evaluate(node, module)) for node in (later, first))
    if isinstance(rate, int | float) and isinstance(begun, int | float):
        return rate > begun
    match later:
        case ast.BinOp(left=base, op=ast.Mult(), right=ast.Constant(value=factor)):
            pass
        case ast.BinOp(left=ast.Constant(value=factor), op=ast.Mult(), right=base):
            pass
        case _:
            return False
    return (
        module.text(base) == module.text(first) and isinstance(factor, int | float) and factor > 1
    )


def of_own(calls: Iterable[Call]) -> Base | None:
    """Return the peak that a schedule of the program or of another file gets by its name."""
    for call in calls:
        for keyword in call.node.keywords:
            if keyword.arg and _PEAK.fullmatch(keyword.arg):
                return keyword.value, call.module
    return None


def of_formula(rate: ast.expr, module: Module) -> Base | None:
    """Return `base` of `base * pow(1 - step / total, power)`."""
    for node, where in chase(rate, module):
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                pass
            case ast.Call(func=function, args=[left, right]) if identifier(function) in _MULTIPLIES:
                pass
            case ast.Name() | ast.Attribute():
                continue
            case _:
                return None
        pair = [operand for operand in (left, right) if not _is_power(operand)]
        return (pair[0], where) if len(pair) == 1 else None
    return None


def _is_power(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=function):
            return identifier(function) == "pow"
        case ast.BinOp(op=ast.Pow()):
            return True
    return False
