"""What methods, operators and functions of the library compute of values of the model."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Dim, LayerObject, Library, Opaque, Sizes, Tensor
from crosscast_migrate.models.operations import operation, reshaped
from crosscast_migrate.models.settings import bound

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.machine.frames import Variables
    from crosscast_reading.pysource.programs.module import Module

_WHOLE = frozenset(
    {*("int", "long", "short", "bool", "bool_", "int8", "uint8", "int16", "int32", "int64")}
)
"""Types, by their last word, to which a value is not converted without a loss."""
_ARITHMETIC = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def of_tensor(
    machine: ModelMachine,
    held: Tensor,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    node: ast.Call,
    module: Module,
) -> Any:
    """Return the value that a method of a value of the model returns."""
    span = module.span(node)
    if name in ("size", "dim", "get_shape"):
        if name == "dim":
            shape = machine.graph.shape(held)
            return len(shape) if shape is not None else machine.opaque(node, module)
        return size_of(machine, held, given[0], node, module) if given else Sizes(held)
    row = machine.tables.methods.get(name)
    if row is None:
        raise UnreadableError(f"the method {name} of a value is not in the table", span)
    if row.kind == "identity":
        words = {v.name.rpartition(".")[2] for v in (*given, *named.values()) if _is_named(v)}
        # Inputs are of the type that their rows have.
        if words & _WHOLE and any(step.output == held.number for step in machine.graph.steps):
            raise UnreadableError("a value of the model is made a whole number", span)
        return held
    alone = given and not isinstance(given[0], list | tuple | Sizes)
    if row.kind in ("reshape", "permute") and alone:
        given = [tuple(given)]
    return of_row(machine, row, [held, *given], named, span)


def _is_named(value: Any) -> bool:
    return isinstance(value, Library)


def of_row(
    machine: ModelMachine,
    row: Any,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> Any:
    """Return the value of an operation of the table."""
    named = dict(named)
    rest: Sequence[Any]
    if row.inputs == 0:
        inputs, rest = list(given[0]) if given else [], given[1:]
        for word in machine.tables.list_names:
            if not inputs and word in named:
                inputs = list(named.pop(word))
    else:
        inputs, rest = list(given[: row.inputs]), given[row.inputs :]
        for word in machine.tables.tensor_names:
            if len(inputs) < row.inputs and word in named:
                inputs.append(named.pop(word))
    if row.inputs == 2 and len(inputs) == 2 and any(isinstance(i, int | float) for i in inputs):
        kind = {v: k for k, v in _ARITHMETIC.items()}.get(row.kind)
        if kind is not None:
            return arithmetic_of(machine, kind, inputs[0], inputs[1], span)
    certain(inputs)
    if not inputs or not all(isinstance(each, Tensor) for each in inputs):
        raise UnreadableError("an operation on something that is no value of the model", span)
    settings = bound(row, rest, named, span)
    if row.kind == "reshape":
        return reshaped(machine.graph, inputs[0], settings["shape"], span)
    layer = LayerObject(row, settings, span)
    return operation(machine.graph, layer, inputs, span)


def certain(inputs: Sequence[Any]) -> None:
    """Raise an error for an input that is not known, with what is not known of it."""
    for given in inputs:
        if isinstance(given, Opaque):
            raise UnreadableError(given.text, given.span)


def arithmetic_of(
    machine: ModelMachine, kind: type[ast.operator], left: Any, right: Any, span: Span | None
) -> Tensor:
    """Return `left op right` where at least one is a value of the model."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if kind is ast.MatMult:
            return machine.graph.apply("matmul", [left, right], {})
        if kind is ast.Mult and _is_sign(machine, left, right):
            return machine.graph.apply("abs", [left], {})
        if kind in _ARITHMETIC:
            return machine.graph.apply(_ARITHMETIC[kind], [left, right], {})
    certain((left, right))
    tensor, number = (left, right) if isinstance(left, Tensor) else (right, left)
    if isinstance(number, int | float):
        scales: dict[type[ast.operator], tuple[float, float]] = {
            ast.Add: (1.0, float(number)),
            ast.Mult: (float(number), 0.0),
        }
        if tensor is left and number:
            scales[ast.Sub] = (1.0, -float(number))
            scales[ast.Div] = (1.0 / float(number), 0.0)
        elif tensor is right:
            scales[ast.Sub] = (-1.0, float(number))
        if kind in scales:
            scale, offset = scales[kind]
            return machine.graph.apply("scale", [tensor], {"scale": scale, "offset": offset})
    raise UnreadableError("this arithmetic is not carried", span)


def _is_sign(machine: ModelMachine, tensor: Tensor, other: Tensor) -> bool:
    """Whether a value is the sign of another one."""
    producers = (step for step in machine.graph.steps if step.output == other.number)
    return any(step.kind == "sign" and step.inputs == (tensor.number,) for step in producers)


def size_of(machine: ModelMachine, tensor: Tensor, key: Any, node: ast.AST, module: Module) -> Any:
    """Return an entry of a shape, as a number where it is known."""
    shape = machine.graph.shape(tensor)
    if isinstance(key, slice):
        if shape is not None:
            axes = range(len(shape))[key]
        elif key == slice(None, 1):
            axes = range(1)
        else:
            return machine.opaque(node, module)
        return [size_of(machine, tensor, axis, node, module) for axis in axes]
    if isinstance(key, int):
        if shape is not None and -len(shape) <= key < len(shape):
            axis = key % len(shape)
            return shape[axis] if axis and shape[axis] is not None else Dim(tensor, axis)
        return Dim(tensor, key)
    return machine.opaque(node, module)


def part_of_tensor(
    machine: ModelMachine, tensor: Tensor, node: ast.Subscript, frame: Variables
) -> Tensor:
    """Return `x[:, i]` and `x[..., i]`: one entry of an axis."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    chosen: list[tuple[int, int]] = []
    for place, part in enumerate(parts):
        match part:
            case ast.Slice(lower=None, upper=None, step=None):
                continue
            case ast.Constant(value=value) if value is Ellipsis and len(parts) == 2 and not place:
                continue
        index = machine.certain(part, frame)
        if not isinstance(index, int) or isinstance(index, bool) or not place:
            raise UnreadableError("this part of a value is not carried", frame.module.span(node))
        is_last = isinstance(parts[0], ast.Constant)
        chosen.append((-1 if is_last else place, index))
    if len(chosen) != 1:
        raise UnreadableError("this part of a value is not carried", frame.module.span(node))
    axis, index = chosen[0]
    return machine.graph.apply("part", [tensor], {"axis": axis, "index": index})
