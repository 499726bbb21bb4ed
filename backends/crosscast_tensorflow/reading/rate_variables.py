"""Learning rates that TensorFlow programs keep in variables and change by assignment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_reading.readers.python.optimizers import OptimizerCall, course_facts, rate_of
from crosscast_reading.readers.python.schedules import Course, course_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.rate_functions import WAITS, by_hand, calls_cosine
from crosscast_tensorflow.reading.session_runs import runs_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_VARIABLE = re.compile(r"(tensorflow|keras)\.(\w+\.)*(Variable|variable|get_variable)")
_SCALES = frozenset({"multiply", "scalar_mul", "divide", "maximum", "div"})
_WARM = re.compile(r"warm_?up|burn_?in", re.I)


def rate_variables(optimizers: Iterable[OptimizerCall], reader: str) -> Iterator[Fact]:
    """Yield the schedules of optimizers whose rate is a variable that is assigned later."""
    for optimizer in optimizers:
        node, module = rate_of(optimizer.call), optimizer.call.module
        if node is None:
            continue
        module = module.owner_of(node)
        variable = _variable_in(node, module)
        if variable is None:
            continue
        made, home, names = variable
        for call, value in _assigned(names, home):
            course = _course(value, call, names, home)
            if course is None:
                continue
            if course.decay == "plateau":
                yield from _start(made, home, optimizer, reader)
            per = "epoch" if course.decay == "plateau" else "step"
            yield from course_facts(course, reader, home.span(call), stepped=per)
            return


def _variable_in(node: ast.expr, module: Module) -> tuple[ast.Call, Module, set[str]] | None:
    """Return the call that makes the variable behind a rate, and the variable's names."""
    parts = flow_of(node, module, lambda call, where: not _is_variable(call, where))
    for part, where in parts:
        if isinstance(part, ast.Call) and _is_variable(part, where):
            names = {
                other.text(inner)
                for inner, other in parts
                if other is where and isinstance(inner, ast.Name | ast.Attribute)
            }
            return part, where, names
    return None


def _is_variable(call: ast.Call, module: Module) -> bool:
    return bool(_VARIABLE.fullmatch(canonical(module.call(call).name)))


def _assigned(names: set[str], module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield where a variable gets a value that is computed."""
    for call in module.calls:
        match call.node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="tf" | "K")), args=[of, value, *_]):
                pass
            case ast.Call(func=ast.Attribute(value=of), args=[value, *_]):
                pass
            case _:
                continue
        sets = call.method in ("assign", "set_value", "update")
        if sets and module.text(of) in names and not isinstance(value, ast.Constant):
            yield call.node, value


def _course(value: ast.expr, call: ast.Call, names: set[str], module: Module) -> Course | None:
    """Return the schedule of the assigned values; None if nothing speaks of one."""
    value_course = course_of(value, module)
    if value_course is not None and value_course.decay not in ("", "constant"):
        return value_course
    parts = flow_of(value, module)
    warm = any(
        _WARM.search(identifier(p)) for p, _ in parts if isinstance(p, ast.Name | ast.Attribute)
    )
    if any(isinstance(p, ast.Call) and identifier(p.func).startswith("bisect") for p, _ in parts):
        course = Course("multistep", has_warmup=warm)
    elif any(calls_cosine(part) for part, _ in parts):
        course = Course("cosine", has_warmup=warm)
    elif _is_scaled(value, names, module) and _waits(call, module):
        course = Course("plateau", has_warmup=warm)
    elif value_course is not None:
        course = replace(value_course, decay="custom")
    elif _is_scaled(value, names, module):
        course = Course("custom", has_warmup=warm)
    else:
        return None
    return replace(course, places=(module.span(value),))


def _is_scaled(value: ast.expr, names: set[str], module: Module) -> bool:
    """Whether a variable is multiplied or divided by something: `rate * 0.1`."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            parts = (left, right)
        case ast.Call(func=function, args=[left, right]) if identifier(function) in _SCALES:
            parts = (left, right)
        case _:
            return False
    return any(module.text(part) in names or _is_scaled(part, names, module) for part in parts)


def _waits(call: ast.Call, module: Module) -> bool:
    """Whether the change stands, or is run by a session, under a test of what gets better."""
    assert module.program is not None
    places = [(call, module)]
    places += [(run.node, run.module) for run, _ in runs_of(call, module.program)]
    for place, where in places:
        around = where.enclosing(place, ast.If)
        while isinstance(around, ast.If):
            if WAITS.search(where.text(around.test)):
                return True
            around = where.enclosing(around, ast.If)
    return False


def _start(made: ast.Call, module: Module, optimizer: OptimizerCall, reader: str) -> Iterator[Fact]:
    """Yield the value that the variable begins with."""
    given = {k.arg: k.value for k in made.keywords if k.arg in ("initializer", "initial_value")}
    first = made.args[:1] if identifier(made.func) == "Variable" else []
    for node in (*given.values(), *first):
        value, span = value_of(node, module), module.span(node)
        field = "optimizer.learning_rate"
        yield fact_of(field, value, span, subject=optimizer.subject, reader=reader)
        return


def fed_value(rate: ast.expr, module: Module) -> ast.expr | None:
    """Return the expression that sessions feed for a rate, if it is the same everywhere."""
    text = module.text(rate)
    fed = [
        value
        for entries in module.every(ast.Dict)
        for key, value in zip(entries.keys, entries.values, strict=True)
        if key is not None and module.text(key) == text
    ]
    return fed[0] if len({module.text(value) for value in fed}) == 1 else None


def is_constant(fed: ast.expr, module: Module) -> bool:
    """Whether a rate that sessions feed is one value that never changes."""
    given = fed
    for _ in range(2):
        match definitions(given, module):
            case [Binding(kind="parameter")]:
                return True
            case [Binding(kind="assign", value=ast.expr() as value) as bound]:
                given, module = value, bound.module
    return isinstance(given, ast.Constant)


def fed_course(fed: ast.expr, module: Module, subject: str, reader: str) -> list[Fact]:
    """Return the first value of a rate that sessions feed, and its course."""
    owner = module.owner_of(fed)
    if isinstance(fed, ast.Name):
        changed = by_hand(fed, owner, subject, reader)
        if len(changed) > 1:
            return changed
    course = course_of(fed, owner)
    if course is None or course.decay in ("", "constant"):
        return []
    if owner.enclosing(fed, ast.For, ast.While) is None:
        return []
    names = [identifier(part) for part, _ in flow_of(fed, owner) if isinstance(part, ast.Name)]
    per = "epoch" if any("epoch" in name.lower() for name in names) else ""
    return list(course_facts(course, reader, owner.span(fed), stepped=per))
