"""What advances a Paddle learning rate if the training loop does not show it.

A schedule object of Paddle 2 is advanced by hand: in static programs beside the executor, and in
loops that get it from elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier, names_in, walk
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import FactWriter
from crosscast_reading.readers.python.library_calls import calls_of, value_of
from crosscast_reading.readers.python.optimizers import course_facts
from crosscast_reading.readers.python.rate_curves import RateCurve, curve_of_assignment
from crosscast_reading.readers.python.schedule_parts import part_of_curve, tell_schedule
from crosscast_reading.readers.python.schedules import course_of
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCHEDULE = re.compile(r"paddle\.optimizer\.lr(_scheduler)?\.\w+|paddlenlp\.\w+\.\w*Warmup\w*")
_BY_NAME = re.compile(r"(^|[._])(?!\w{0,60}optim)(lr|lr_\w{0,60}|\w{0,60}sched\w{0,60})$", re.I)
_RATED = re.compile(r"group|optimize_attr", re.I)
_SCALED = re.compile(r"amp\.decorate|mixed_precision\.decorate|amp_configs|GradScaler|AmpScaler")


def rates(program: Program, reader: str, *, static: bool, told: bool = False) -> Iterator[Fact]:
    """Yield the event that advances the rate, and whether another file defines the schedule.

    Args:
        program: the files.
        reader: name of the reader.
        static: whether the program builds a static graph.
        told: whether the schedule behind an optimizer is known.
    """
    steps = list(_steps(program))
    if not steps:
        if not told:
            yield from list(_set(program, reader)) or _adjusted(program, reader)
        return
    made = any(_SCHEDULE.fullmatch(name) for name, _ in calls_of(program))
    behind = [] if told else list(_behind(steps, reader))
    yield from behind
    if not behind and (not made or not told):
        spans = [call.module.span(call.node) for call in steps[:3]]
        yield fact_of(
            "schedule.name", Known("elsewhere"), *spans, reader=reader, confidence="guess"
        )
    if static:
        yield from _beside_executor(program, steps[0], reader, made=made)


def _steps(program: Program) -> Iterator[Call]:
    """Yield the calls that advance a schedule."""
    for name, call in calls_of(program):
        if call.method != "step" or call.receiver is None:
            continue
        if isinstance(value_of(call.receiver, call.module), Known):
            continue  # a number, which is no schedule
        text = call.receiver_text.partition("[")[0]
        if _SCHEDULE.match(name) or _BY_NAME.search(text):
            yield call


def _behind(steps: list[Call], reader: str) -> Iterator[Fact]:
    """Yield the schedule that is advanced, where its optimizer gets it later or never."""
    for call in steps:
        course = course_of(call.receiver, call.module) if call.receiver is not None else None
        if course is not None and course.decay and _SCHEDULE.match(call.name):
            yield from course_facts(course, reader, call.module.span(call.node))
            return


def _set(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedule that `optimizer.set_lr(rate)` makes, or who computes it."""
    for _, call in calls_of(program):
        match call.node:
            case ast.Call(func=ast.Attribute(value=owner, attr="set_lr"), args=[rate, *_]):
                kind = kind_by_name(last_name(owner))
            case _:
                continue
        if kind != "optimizer":
            continue
        curve = _curve(rate, call.module)
        word = _computed_by(rate, call.module)
        span = call.module.span(call.node)
        if curve is not None:
            writer = FactWriter(reader)
            tell_schedule(writer, [part_of_curve(curve, "", (span,))])
            yield from writer.facts
        elif word:
            yield fact_of("schedule.name", Known(word), span, reader=reader, confidence="guess")
        elif _changes_in_loop(rate, call.module):
            value = Unknown(call.module.text(rate), "the program computes it itself")
            yield fact_of("schedule.name", value, span, reader=reader, confidence="likely")
        else:
            continue
        return
    yield from _written(program, reader)


def _written(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the schedule of rates that a loop writes into groups of parameters or parameters."""
    for module in program.modules:
        for node in module.every(ast.Assign):
            match node.targets:
                case [ast.Subscript(value=owner, slice=ast.Constant(value="lr" | "learning_rate"))]:
                    pass
                case _:
                    continue
            looped = module.enclosing(node, ast.For, ast.While) is not None
            fixed = isinstance(value_of(node.value, module), Known)
            if looped and not fixed and _RATED.search(module.text(owner)):
                value = Unknown(module.text(node.value), "the program computes it itself")
                span = module.span(node)
                yield fact_of("schedule.name", value, span, reader=reader, confidence="likely")
                return


def _adjusted(program: Program, reader: str) -> Iterator[Fact]:
    """Yield who computes the rate that a function sets: `adjust_learning_rate(optimizer, ...)`."""
    for step in training_steps(program):
        for event in step.of("schedule"):
            if not event.subject or "by_hand" not in event.detail:
                continue
            if not isinstance(event.node, ast.Call):
                continue
            seen = program.function(event.module.call(event.node)) is not None
            word = Known("custom" if seen else "elsewhere")
            yield fact_of("schedule.name", word, event.span, reader=reader, confidence="guess")
            return


def _curve(rate: ast.expr, module: Module) -> RateCurve | None:
    """Return the curve that the assignment before a rate is set gives, step by step."""
    match definitions(rate, module):
        case [Binding(node=ast.Assign() as made, path=()) as binding]:
            curve = curve_of_assignment(made, binding.module)
        case _:
            return None
    return curve if curve is not None and (curve.name != "constant" or curve.warms) else None


def _computed_by(rate: ast.expr, module: Module) -> str:
    """Return `caller` for a parameter, `elsewhere` for a call of an unseen object, or nothing.

    A function of the program that gets a number of its loop computes a schedule of its own.
    """
    for made in definitions(rate, module):
        if made.kind == "parameter":
            return "caller"
        if isinstance(made.value, ast.Call):
            if made.module.program.function(made.module.call(made.value)) is None:
                return "elsewhere"
            if _depends_on_loop(made.value, made.module):
                return "custom"
    return ""


def _changes_in_loop(rate: ast.expr, module: Module) -> bool:
    """Whether a loop sets a rate that it changes itself, or takes from a row of rates."""
    if isinstance(rate, ast.Subscript):
        return _depends_on_loop(rate, module)
    for made in definitions(rate, module):
        looped = made.module.enclosing(made.node, ast.For, ast.While) is not None
        itself = made.assigned is not None and identifier(rate) in names_in(made.assigned)
        if looped and (made.kind == "augment" or itself):
            return True
    return False


def _depends_on_loop(node: ast.expr, module: Module) -> bool:
    """Whether an expression has a number that a loop around it counts."""
    names = {each.id for each in walk(node) if isinstance(each, ast.Name)}
    loop = module.enclosing(node, ast.For)
    while loop is not None:
        if names & {each.id for each in walk(loop.target) if isinstance(each, ast.Name)}:
            return True
        loop = module.enclosing(loop, ast.For)
    return False


def _beside_executor(program: Program, call: Call, reader: str, *, made: bool) -> Iterator[Fact]:
    module = call.module
    loop = module.enclosing(call.node, ast.For, ast.While)
    if loop is None:
        return
    inside = any(isinstance(inner, ast.Attribute) and inner.attr == "run" for inner in walk(loop))
    merged = any("gradient_merge" in m.source.text for m in program.modules)
    word = "epoch" if not inside else "micro" if merged and made else "step"
    span = module.span(call.node)
    yield fact_of("schedule.stepped_per", Known(word), span, reader=reader)
    if made and word != "epoch" and any(_SCALED.search(m.source.text) for m in program.modules):
        yield fact_of("schedule.on_skip", Known("steps"), span, reader=reader)
