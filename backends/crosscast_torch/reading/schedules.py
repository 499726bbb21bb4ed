"""Reads schedules of the learning rate in PyTorch programs, and rates that they assign."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.default_conditions import runs_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, trains
from crosscast_reading.readers.python.rate_curves import curve_of_assignment
from crosscast_reading.readers.python.schedule_parts import (
    SchedulePart,
    branches_together,
    part_of_curve,
    tell_schedule,
)
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading.rate_formulas import Part, foreign_call, shape_of, tests_around
from crosscast_torch.reading.schedule_calls import scheduled, shape_by_name

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Event

_ADJUSTS = re.compile(r"lr|learn|sched|adjust|warm|anneal|decay|rate", re.I)
_GROUPS = ("pg", "g", "p", "grp", "x")

NAME = "torch_schedules"


class TorchSchedules:
    """Reads schedules."""

    name = NAME
    hints = ("chedul", "LR", "lr'", 'lr"', "Noam", "arm", "anneal", "earning_rate")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the learning rate schedule of a program."""
        writer = FactWriter(NAME)
        if not trains(program) and not _configures(program):
            return
        parts = list(scheduled(program))
        falls = any(part.decay and part.decay != "constant" for part in parts)
        for part in _assigned_rates(program):
            if falls and part.warms:  # the hand-written part only warms up
                part.decay, part.rising = "", True
            parts.append(part)
        if not any(part.decay for part in parts):
            parts += _stepped_rates(program)
        tell_schedule(writer, parts)
        if parts:
            _tell_engine(writer, program)
        yield from writer.facts


def _configures(program: Program) -> bool:
    """Whether a file without a training loop configures a run."""
    return any(
        name.rpartition(".")[2] == "configure_optimizers"
        for module in program.modules
        for name in module.functions
    )


def _tell_engine(writer: FactWriter, program: Program) -> None:
    """Record when an event-driven engine advances the rate: `on ITERATION_STARTED, scheduler`."""
    for module in program.modules:
        for call in module.calls:
            if call.method != "add_event_handler":
                continue
            event, *handler = map(module.text, call.node.args[:2] or [call.node])
            if "sched" not in "".join(handler).lower():
                continue
            place = module.span(call.node)
            if "ITERATION" in event:
                writer.say("schedule.stepped_per", "micro", place)
                writer.say("schedule.on_skip", "steps", place)
            elif "EPOCH" in event:
                writer.say("schedule.stepped_per", "epoch", place)


def _assigned_rates(program: Program) -> Iterator[SchedulePart]:
    """Yield the schedules of assignments such as `group["lr"] = rate`, one for each class."""
    parts_by_class: dict[ast.ClassDef | None, list[SchedulePart]] = {}
    for module in program.modules:
        nodes = [
            node
            for node in module.nodes
            if isinstance(node, ast.Assign | ast.AugAssign) and _sets_rate(node, module)
        ]
        for node in sorted(nodes, key=lambda node: getattr(module.function_of(node), "lineno", 0)):
            part = _part(node, module)
            if part is not None and part.curve is not None and _follows_update(node, module):
                part.form = "" if part.curve.late or part.curve.ahead else "behind"
            if part is not None:
                parts_by_class.setdefault(module.class_of(node), []).append(part)
    yield from map(branches_together, parts_by_class.values())


def _follows_update(node: ast.AST, module: Module) -> bool:
    """Whether a statement sets the rate after the update of a round, or a function that does is
    called there: the rate is for the next round."""
    function, program = module.function_of(node), module.program
    sites = program.call_sites(module, function) if function is not None else ()
    places = [(node, module), *((site.node, site.module) for site in sites)]
    updates = [update for step in training_steps(program) for update in step.inside("step")]
    sides = [
        _line(place) > _line(update.node)
        for place, where in places
        for update in updates
        if update.module is where and _round(place, where) is not None
        if _round(place, where) is _round(update.node, where)
    ]
    return bool(sides) and all(sides)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _round(node: ast.AST, module: Module) -> ast.AST | None:
    """Return the innermost loop around a node that is not about groups."""
    loop = module.enclosing(node, ast.For, ast.While)
    while isinstance(loop, ast.For) and "group" in module.text(loop.iter):
        loop = module.enclosing(loop, ast.For, ast.While)
    return loop


def _sets_rate(node: ast.Assign | ast.AugAssign, module: Module) -> bool:
    """Whether a statement writes the rate of a group of parameters."""
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    match target:
        case ast.Subscript(value=group, slice=ast.Constant(value="lr")):
            text = module.text(group)
        case _:
            return False
    if "group" in text.lower():
        return True
    loop = module.enclosing(node, ast.For) if text.rpartition(".")[2] in _GROUPS else None
    while loop is not None and "param_groups" not in module.text(loop.iter):
        loop = module.enclosing(loop, ast.For)
    return loop is not None


def _part(node: ast.Assign | ast.AugAssign, module: Module) -> SchedulePart | None:
    if module.is_dead(node):
        return None
    formulas: list[Part] = [(node.value, module)]
    places = [module.span(node)]
    function = module.function_of(node)
    if function is not None:
        sites = module.program.call_sites(module, function)
        if not sites and module.class_of(function) is None and not _is_handed_on(module, function):
            return None
        if _ADJUSTS.search(function.name):
            places.append(module.span(function))
            places += [site.module.span(site.node) for site in sites]
        formulas += _arguments(node.value, module)
    shape = shape_of(formulas)
    if not shape.decay:
        shape = shape_of([*formulas, *((test, module) for test in tests_around(node, module))])
    call = foreign_call(node.value, module)
    by_name = shape_by_name(call) if call is not None else shape
    decay = by_name.decay if shape.decay in ("", "custom") else shape.decay
    warms = shape.warms or by_name.warms
    if isinstance(node, ast.AugAssign) and decay == "custom":
        decay = "step_custom"
    scaled = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult | ast.Div)
    if not decay and scaled and module.enclosing(node, ast.For, ast.While) is not None:
        decay = "custom"
    if not decay:
        return None
    by_default = runs_by_default(node, module)
    curve = curve_of_assignment(node, module)
    if curve is not None:
        return part_of_curve(curve, decay, tuple(places), by_default)
    return SchedulePart(decay, tuple(places), warms, by_default=by_default, confidence="guess")


def _arguments(value: ast.expr, module: Module) -> Iterator[Part]:
    """Yield the rates that calls pass to a function such as `set_lr(optimizer, rate)`."""
    if isinstance(value, ast.Name):
        for binding in definitions(value, module):
            if binding.kind == "parameter":
                yield from module.program.arguments_for(binding)


def _is_handed_on(module: Module, function: Function) -> bool:
    """Whether a function without calls is used by name, as a callback."""
    return any(node.id == function.name for node in module.every(ast.Name))


def _stepped_rates(program: Program) -> Iterator[SchedulePart]:
    """Yield the facts of steps of schedules that the files do not create."""
    for step in training_steps(program):
        for event in step.of("schedule"):
            decided = _decided_by(event)
            if event.loops or decided == "caller":
                yield SchedulePart(decided, (event.span,), confidence="likely")


def _decided_by(event: Event) -> str:
    """Return the decay: `caller`, `elsewhere`, or `custom` if the event itself decides it.

    Empty if it only keeps a rate: `log["lr"] = group["lr"]`.
    """
    module = event.module
    match event.node:
        case ast.Call(func=ast.Attribute(value=mover)) | ast.Call(func=mover):
            return "caller" if _is_given(mover, module) else "elsewhere"
        case (ast.Assign() | ast.AugAssign()) as node if _sets_rate(node, module):
            value = node.value
            if any(_is_given(name, module) for name in walk(value) if isinstance(name, ast.Name)):
                return "caller"
            return "elsewhere" if foreign_call(value, module) is not None else "custom"
    return ""


def _is_given(node: ast.expr, module: Module) -> bool:
    """Whether it is a parameter of a function that none of the files calls."""
    return any(
        binding.kind == "parameter"
        and name.id not in ("self", "cls")
        and not module.program.arguments_for(binding)
        for name, where in chase(node, module)
        if isinstance(name, ast.Name) and name.id not in ("self", "cls")
        for binding in definitions(name, where)
    )


READER = TorchSchedules()
