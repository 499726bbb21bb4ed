"""Communication hooks of DDP that divide gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.answers.reductions import held_back
from crosscast_reading.trainstep.events import TrainingStep


@once
def hook_divisions(program: Program) -> tuple[tuple[Module, ast.Call, str], ...]:
    """Return the registrations of hooks that divide by a number of micro-batches."""
    return tuple(_hook_divisions(program))


def _hook_divisions(program: Program) -> Iterator[tuple[Module, ast.Call, str]]:
    for module in program.modules:
        for call in module.calls:
            if call.method != "register_comm_hook" or not call.node.args:
                continue
            hook = call.node.args[-1]
            for name in _names(hook):
                definition = program.function_named(module.resolve(name))
                length = _divided_by(*definition) if definition is not None else ""
                if length:
                    yield module, call.node, length
                    break


def _names(hook: ast.expr) -> Iterator[ast.expr]:
    if isinstance(hook, ast.Call):
        yield hook.func
        yield from hook.args
    else:
        yield hook


def _divided_by(module: Module, function: ast.AST) -> str:
    for node in walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="div_" | "div"), args=[by]):
                pass
            case ast.BinOp(op=ast.Div(), right=by) | ast.AugAssign(op=ast.Div(), value=by):
                pass
            case _:
                continue
        if ACCUMULATES.search(module.text(by)):
            return module.text(by)
    return ""


def syncs_every_micro(step: TrainingStep) -> bool:
    """Whether gradients are reduced at every micro-batch for at least some settings."""
    return any(
        held_back(event, step) is None or not event.by_default
        for event in step.of("backward")
        if all(guard.at_end is not True for guard in event.guards)
    )
