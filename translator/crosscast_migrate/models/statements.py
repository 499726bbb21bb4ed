"""Statements of constructors and forward passes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models import known_models
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    FunctionObject,
    LayerObject,
    ModuleObject,
    Opaque,
    SequenceObject,
    Sizes,
    Tensor,
    Training,
    Weight,
)
from crosscast_migrate.models.tensor_calls import combined, size_of

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import Machine, Names
    from crosscast_reading.pysource.programs.module import Module


class _ReturnError(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _LeaveError(Exception):
    def __init__(self, ends: bool) -> None:
        self.ends = ends


_UNTRAINED = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
LEAVE = (_ReturnError, _LeaveError)
"""What ends a block before its last statement."""


def returned(machine: Machine, body: Sequence[ast.stmt], module: Module, names: Names) -> Any:
    """Return what a function returns."""
    try:
        run(machine, body, module, names)
    except _ReturnError as end:
        return end.value
    return None


def run(machine: Machine, body: Sequence[ast.stmt], module: Module, names: Names) -> None:
    """Run statements."""
    for statement in body:
        _statement(machine, statement, module, names)


def _statement(machine: Machine, statement: ast.stmt, module: Module, names: Names) -> None:
    match statement:
        case ast.Return(value=value):
            raise _ReturnError(machine.value(value, module, names) if value else None)
        case ast.Assign(targets=targets, value=value):
            made = machine.value(value, module, names)
            for target in targets:
                assign(machine, target, made, module, names)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign(machine, target, machine.value(value, module, names), module, names)
        case ast.AugAssign():
            _augment(machine, statement, module, names)
        case ast.If(test=test, body=body, orelse=orelse):
            run(machine, body if machine.truth(test, module, names) else orelse, module, names)
        case ast.For(target=target, iter=source, body=body, orelse=orelse):
            for value in iterated(machine, source, module, names):
                assign(machine, target, value, module, names)
                try:
                    run(machine, body, module, names)
                except _LeaveError as end:
                    if end.ends:
                        break
            else:
                run(machine, orelse, module, names)
        case ast.With(items=items, body=body):
            before = len(machine.graph.steps)
            run(machine, body, module, names)
            if len(machine.graph.steps) > before:
                for item in items:
                    with_gradients(item.context_expr, module)
        case ast.FunctionDef(name=name):
            names[name] = FunctionObject(statement, module, None, names)
        case ast.Expr(value=ast.Call() as call):
            machine.value(call, module, names)
        case ast.Break() | ast.Continue():
            raise _LeaveError(isinstance(statement, ast.Break))
        case ast.Expr() | ast.Pass() | ast.Assert() | ast.Import() | ast.ImportFrom():
            pass
        case ast.AnnAssign() | ast.Global():
            pass
        case _:
            what = type(statement).__name__.lower()
            raise UnreadableError(f"a statement ({what}) that is not read", module.span(statement))


def with_gradients(context: ast.expr, module: Module) -> None:
    """Raise an error if a context or decorator leaves a part of the forward pass untrained."""
    called = context.func if isinstance(context, ast.Call) else context
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if name in _UNTRAINED:
        text = module.text(context)[:60]
        raise UnreadableError(f"a part under {text} is not trained", module.span(context))


def _augment(machine: Machine, node: ast.AugAssign, module: Module, names: Names) -> None:
    place = ast.copy_location(_loaded(node.target), node.target)
    left = machine.value(place, module, names)
    right = machine.value(node.value, module, names)
    value = combined(machine, type(node.op), left, right, node, module)
    if isinstance(left, Tensor) and machine.tables.adds_in_place:
        machine.graph.overwrite(left)
    assign(machine, node.target, value, module, names)


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
    return target


def assign(machine: Machine, target: ast.expr, value: Any, module: Module, names: Names) -> None:
    """Assign a value to names, attributes of the model or entries of lists."""
    match target:
        case ast.Name(id=name):
            names[name] = value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = _unpacked(machine, value, len(parts), target, module)
            for part, each in zip(parts, values, strict=True):
                assign(machine, part, each, module, names)
        case ast.Attribute(value=base, attr=attr):
            held = machine.value(base, module, names)
            if isinstance(held, ModuleObject):
                held.attributes[attr] = value
            elif isinstance(held, LayerObject) and held.reading is known_models.READING:
                known_models.with_head(machine.graph.source, held, attr, value, module.span(target))
            elif isinstance(held, LayerObject | SequenceObject | Weight | Tensor):
                text = module.text(target)[:60]
                raise UnreadableError(f"{text} is assigned to", module.span(target))
        case ast.Subscript(value=base, slice=key):
            held = machine.value(base, module, names)
            if isinstance(held, list | dict):
                try:
                    held[machine.certain(key, module, names)] = value
                except (TypeError, LookupError):
                    raise UnreadableError("no such entry", module.span(target)) from None
            elif isinstance(held, LayerObject | SequenceObject | Weight | Tensor | ModuleObject):
                text = module.text(target)[:60]
                raise UnreadableError(f"{text} is assigned to", module.span(target))


def _unpacked(
    machine: Machine, value: Any, count: int, node: ast.expr, module: Module
) -> Sequence[Any]:
    if isinstance(value, Sizes):
        return [size_of(machine, value.tensor, axis, node, module) for axis in range(count)]
    if isinstance(value, list | tuple) and len(value) == count:
        return value
    if isinstance(value, Opaque):
        return [value] * count
    raise UnreadableError("cannot be unpacked", module.span(node))


def iterated(machine: Machine, node: ast.expr, module: Module, names: Names) -> list[Any]:
    """Return what a loop runs over."""
    value = machine.certain(node, module, names)
    if isinstance(value, SequenceObject):
        return [part for _, part in value.parts]
    if isinstance(value, list | tuple | range | str):
        return list(value)
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, Tensor | Training):
        raise UnreadableError("a loop over a value of the model", module.span(node))
    raise UnreadableError("a loop over something that is not known", module.span(node))
