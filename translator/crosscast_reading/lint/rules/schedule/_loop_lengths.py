"""Lengths of schedules that are the rounds of a loop over micro-batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast_reading.lint.answers.schedules import makers
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import Event, Loop, TrainingStep

_OWN_LENGTH = re.compile(
    r"(?!.*warm)(\w{1,60}_)?(total|max|num|sched\w{0,60}|train\w{0,60})_(steps|iters)", re.I
)
"""Parameters of a program's own schedules."""


def lengths_of_loops(
    step: TrainingStep, ticks: Sequence[Event], program: Program
) -> Iterator[tuple[Call, ast.expr, ast.expr, Module]]:
    """Yield schedules that advance once a window and are as long as a loop has micro-batches.

    With the length, and the bound of the loop.
    """
    for loop in ticks[0].loops:
        bound = _bound(loop, step)
        if bound is None:
            continue
        where = step.module.owner_of(bound)
        rounds = _forms(bound, where)
        for call, length in (*makers(program), *_own_schedules(program)):
            if rounds & _forms(length, call.module):
                yield call, length, bound, where


def _bound(loop: Loop, step: TrainingStep) -> ast.expr | None:
    """Return the bound to which a loop counts micro-batches: of `range(n)`, `while step < n`."""
    windows = {event.window.counter for event in step.inside("step") if event.window is not None}
    match loop.node:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[bound])):
            return bound if windows == {loop.counter} else None
        case ast.While(
            test=ast.Compare(left=ast.Name(id=name), ops=[ast.Lt() | ast.LtE()], comparators=[end])
        ):
            counted = [event for event in step.of("count") if event.subject == name]
            every = counted and all(event.window is None for event in counted)
            return end if every and windows == {name} else None
    return None


def _forms(node: ast.expr, module: Module) -> set[str]:
    """Return the spellings of a number that can mean only one: its name, what the name was given.

    A parameter is what the calls give for it.
    """
    return {where.text(part) for part, where in chase(node, module) if _means_one(part, where)}


def _means_one(node: ast.expr, module: Module) -> bool:
    if isinstance(node, ast.Constant):
        return False
    for part in walk(node):
        match part:
            case ast.Attribute(attr=name):
                if any(
                    isinstance(other, ast.Attribute)
                    and other.attr == name
                    and not isinstance(other.ctx, ast.Load)
                    for each in module.program.modules
                    for other in each.nodes
                ):
                    return False
            case ast.Name(id=name):
                scope = module.scope_of(part).lookup(name)
                bindings = scope.bindings.get(name, ()) if scope is not None else ()
                is_owner = isinstance(module.parent(part), ast.Attribute)  # `args` of `args.steps`
                if len(bindings) > 1 or (
                    not is_owner and any(binding.kind == "parameter" for binding in bindings)
                ):
                    return False
    return True


def _own_schedules(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the calls of schedules whose class is the program's own, with their lengths."""
    for module in program.modules:
        for call in module.calls:
            scope = program.class_named(call.name) if ":" in call.name else None
            if scope is not None and "lr_scheduler" in program.library_base(scope):
                for name, argument in call.bound().items():
                    if _OWN_LENGTH.fullmatch(name):
                        yield call, argument
