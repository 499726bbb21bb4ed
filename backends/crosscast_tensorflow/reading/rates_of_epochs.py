"""Functions from the number of an epoch to a rate, which callbacks of Keras call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.rate_curves import curve_of_function
from crosscast_reading.readers.python.schedules import Course, course_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_WARM = re.compile(r"warm_?up|ramp_?up|burn_?in", re.I)
_HOLDS_RATE = re.compile(r"optim|^opt$|model", re.I)
_CURVES = ("linear", "cosine", "exponential", "polynomial", "step")


def course_of_callback(call: Call) -> Course:
    """Return the schedule of `LearningRateScheduler(function)`."""
    given = [*call.node.args, *(k.value for k in call.node.keywords if k.arg == "schedule")]
    for node in given[:1]:
        course = course_of(node, call.module)
        if course is not None and course.decay not in ("", "constant"):
            return course
        return _of_function(node, call.module) or course or Course("custom")
    return Course("custom")


def _of_function(node: ast.expr, module: Module) -> Course | None:
    """Return the schedule of a function that is no library's and has no telling name."""
    bound = definitions(node, module) if isinstance(node, ast.Name | ast.Attribute) else []
    for binding in bound:
        match binding.node:
            case ast.FunctionDef(args=ast.arguments(args=[_, *others], defaults=usual)) as made:
                if len(others) > len(usual):
                    return None  # it also gets the rate that holds now
                if _is_piecewise(made):
                    where = binding.module
                    warm = bool(_WARM.search(where.text(made)))
                    return Course("multistep", has_warmup=warm, places=(where.span(made),))
    curve = curve_of_function(node, module)
    if curve is None or curve.name not in _CURVES:
        return None
    return Course(curve.name, has_warmup=curve.warms)


def _is_piecewise(function: Function) -> bool:
    """Whether comparisons of the epoch with fixed numbers choose between fixed rates."""
    epoch = function.args.args[0].arg
    tests = [node.test for node in walk(function) if isinstance(node, ast.If)]
    compared = [test for test in tests if _compares(test, epoch)]
    if not compared or len(compared) < len(tests):
        return False
    if any(isinstance(node, ast.For | ast.While | ast.IfExp) for node in walk(function)):
        return False
    values = list(_values(function))
    return (
        bool(values)
        and not any(
            _uses(value, name) for value in values for name in (epoch, *_given_rate(function))
        )
        and not _reads_state(function, values)
    )


def _given_rate(function: Function) -> list[str]:
    """Return the second parameter, as which Keras gives the rate that holds now."""
    return [each.arg for each in function.args.args[1:2]]


def _reads_state(function: Function, values: list[ast.expr]) -> bool:
    """Whether rates may be made of the one that holds now: `get_value(optimizer.lr) * 0.9`."""
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in walk(function)):
        return True
    for part in (part for value in values for part in walk(value)):
        match part:
            case ast.Call() | ast.Attribute(attr="lr" | "learning_rate", value=ast.Attribute()):
                return True
            case ast.Attribute(value=ast.Name(id=owner)) if _HOLDS_RATE.search(owner):
                return True
    return any(
        isinstance(target, ast.Attribute | ast.Subscript)
        for node in walk(function)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )


def _compares(test: ast.expr, epoch: str) -> bool:
    """Whether the epoch is compared with what does not depend on it: `epoch > 80`."""
    match test:
        case ast.BoolOp(values=values):
            return any(_compares(value, epoch) for value in values)
        case ast.Compare(left=ast.Name(id=name), ops=ops, comparators=others) if name == epoch:
            ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops)
            return ordered and not any(_uses(other, epoch) for other in others)
        case ast.Compare(ops=[ast.Lt() | ast.LtE(), *_], comparators=[ast.Name(id=name), *_]):
            return name == epoch
    return False


def _values(function: Function) -> Iterator[ast.expr]:
    """Yield the values that a function returns, and those that it gives its variables."""
    for node in walk(function):
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
                yield value
            case ast.AugAssign(value=value):
                yield value


def _uses(node: ast.expr, name: str) -> bool:
    """Whether an expression depends on a variable."""
    return any(isinstance(part, ast.Name) and part.id == name for part in walk(node))
