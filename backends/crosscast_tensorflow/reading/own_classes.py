"""Reads library modules: schedules, optimizers and callbacks that they define for other files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import FactWriter
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_reading.readers.python.optimizers import course_facts, family_of
from crosscast_reading.readers.python.rate_curves import RateCurve, curve_of_assignment
from crosscast_reading.readers.python.schedule_parts import part_of_curve, tell_schedule
from crosscast_reading.readers.python.schedules import Course, course_of, course_of_class
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.rate_functions import calls_cosine

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_OPTIMIZER = re.compile(
    r"(keras\.optimizers\.|tensorflow\.(train|contrib\.opt)\.|tensorflow_addons\.)"
)
_INNER = re.compile(r"(base_|inner_|_?)?opt(imizer)?$", re.I)
_RATE = re.compile(r"(^|\.)_?(lr|learning_rate)$")
_MENTIONS = re.compile(r"(lr|learning_rate)(\.assign\(| = |, )")
_OWNER = re.compile(r"optim|(^|\.)_?opt(_\w+)?\.", re.I)
_UPDATES = frozenset({"apply_gradients", "minimize", "train_on_batch"})
_SETS = re.compile(r"lr|learning_?rate|sched|adjust|anneal|decay", re.I)


def own_classes(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedules and optimizers that a program defines and does not create."""
    created = {last(name) for name, _ in calls_of(program)}
    for module in program.modules:
        for node in module.classes.values():
            if not node.bases or node.name in created:
                continue
            base = canonical(program.library_base(module.scopes[node]))
            span = module.span(node)
            if last(base) == "LearningRateSchedule":
                yield from course_facts(course_of_class(node, module), reader, span, stepped="step")
                yield fact_of("schedule.on_skip", Known("library"), span, reader=reader)
            elif _OPTIMIZER.match(base) and not _wraps(node):
                family = family_of(node.name) or family_of(last(base))
                if family:
                    yield fact_of(
                        "optimizer.name", Known(family), span, reader=reader, confidence="likely"
                    )


def _wraps(node: ast.ClassDef) -> bool:
    """Whether a class gets another optimizer, to which it leaves the update."""
    for method in node.body:
        match method:
            case ast.FunctionDef(name="__init__", args=given):
                return any(_INNER.fullmatch(a.arg) for a in given.args)
    return False


def assigned_rates(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedule of a rate that a loop, or a function made for it, sets."""
    for module in program.modules:
        if not _MENTIONS.search(module.source.text):
            continue
        for node, value in _set_rates(module.nodes, module):
            per = _per(node, module)
            if not per:
                continue
            span = module.span(node)
            course = course_of(value, module)
            if course is not None and course.decay not in ("", "constant"):
                yield from course_facts(course, reader, span, stepped=per)
                return
            curve = _curve(node, value, module)
            if curve is not None and (curve.name != "constant" or curve.warms):
                writer = FactWriter(reader)
                tell_schedule(writer, [part_of_curve(curve, "", (span,))])
                yield from writer.facts
                yield fact_of("schedule.stepped_per", Known(per), span, reader=reader)
                return
            formula = any(calls_cosine(part) for part, _ in flow_of(value, module))
            word = "cosine" if formula else "custom"
            course = Course(word, has_warmup=bool(course and course.has_warmup))
            for fact in course_facts(course, reader, span, stepped=per):
                if fact.field != "schedule.has_warmup" or course.has_warmup:
                    yield fact  # a formula that is not read may begin with a warm-up
            return


def _curve(node: ast.AST, value: ast.expr, module: Module) -> RateCurve | None:
    """Return the new rates, step by step, if they can be computed."""
    statement = module.statement_of(node)
    if isinstance(statement, ast.Assign | ast.Expr):
        return curve_of_assignment(statement, module, value)
    return None


def course_set_in(function: Function, module: Module) -> Course | None:
    """Return the schedule whose rates a method of a callback sets; None if it is not visible."""
    for _node, value in _set_rates(walk(function), module):
        course = course_of(value, module)
        if course is not None and course.decay not in ("", "constant"):
            return course
    return None


def _set_rates(nodes: Iterable[ast.AST], module: Module) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield where a rate of an optimizer is set, with the new value."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=rate, attr="assign"), args=[value]):
                pass
            case ast.Call(func=function, args=[rate, value]) if identifier(function) == "set_value":
                pass
            case ast.Assign(targets=[ast.Attribute() as rate], value=value):
                pass
            case _:
                continue
        text = module.text(rate)
        if _RATE.search(text) and _OWNER.search(text) and not _is_same(node, value, text, module):
            yield node, value


def _is_same(node: ast.AST, value: ast.expr, text: str, module: Module) -> bool:
    """Whether a value is the rate itself, or a number that is set whatever the step is."""
    if not isinstance(value, ast.Constant):
        return module.text(value) == text
    loop = module.enclosing(node, ast.For, ast.While)
    around = module.enclosing(node, ast.If)
    return (
        loop is None or around is None or module.enclosing(around, ast.For, ast.While) is not loop
    )


def _per(node: ast.AST, module: Module) -> str:
    """Return how often a rate is set; empty if it is set once."""
    function = module.function_of(node)
    loop = module.enclosing(node, ast.For, ast.While)
    if loop is not None and module.function_of(loop) is function:
        head = (
            module.text(loop.target) + module.text(loop.iter) if isinstance(loop, ast.For) else ""
        )
        return "epoch" if "epoch" in head.lower() else "step"
    if function is None or function.name.startswith("on_"):
        return ""
    if any(isinstance(n, ast.Call) and identifier(n.func) in _UPDATES for n in walk(function)):
        return "step"
    if not _SETS.search(function.name):
        return ""
    words = " ".join(argument.arg for argument in function.args.args)
    return "epoch" if "epoch" in words else "step"
