"""What methods, operators and functions of the library compute of values of the model."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.constants import (
    COMPARES,
    as_constant,
    assigned,
    combined,
    computed,
    sliced,
)
from crosscast_migrate.models.network import Shape, UnreadableError
from crosscast_migrate.models.objects import (
    Constant,
    Dim,
    LayerObject,
    Library,
    Opaque,
    Sizes,
    Tensor,
)
from crosscast_migrate.models.operations import operation, reshaped
from crosscast_migrate.models.settings import bound
from crosscast_migrate.models.slices import WHOLE, Range, parts_of, ranges

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.machine.frames import Variables
    from crosscast_reading.pysource.programs.module import Module

_WHOLE = frozenset(
    {*("int", "long", "short", "bool", "bool_", "int8", "uint8", "int16", "int32", "int64")}
)
"""Types, by their last word, to which a value is not converted without a loss."""
_REAL = frozenset(
    {*("float", "half", "double", "float16", "float32", "float64", "bfloat16", "float_")}
)
_TRUTH = frozenset({"bool", "bool_"})
_KEEPS = frozenset({"contiguous", "clone", "cuda", "bool"})
"""Methods that leave what is true or false as it is, whatever they are given."""
_MIRRORED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
_JOINED = {ast.BitAnd: "and", ast.BitOr: "or"}
_OPERATORS = {word: kind for kind, word in COMPARES.items()}
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
    if name in ("expand", "expand_as", "broadcast_to") and held.number in machine.graph.rowless:
        check_repeats_rows(machine, machine.graph.shape(held), given, span)
        return held  # it is repeated for every row where something needs it
    if row is None:
        raise UnreadableError(f"the method {name} of a value is not in the table", span)
    if row.kind == "identity":
        words = {v.name.rpartition(".")[2] for v in (*given, *named.values()) if _is_named(v)}
        # Inputs are of the type that their rows have.
        if words & _WHOLE and any(step.output == held.number for step in machine.graph.steps):
            raise UnreadableError("a value of the model is made a whole number", span)
        moves = name == "to" and not words & _REAL and not _says_type(node, module)
        return held if moves or name in _KEEPS else _converted(machine, held, words)
    alone = given and not isinstance(given[0], list | tuple | Sizes)
    if row.kind in ("reshape", "permute") and alone:
        given = [tuple(given)]
    return of_row(machine, row, [held, *given], named, span)


def check_repeats_rows(
    machine: ModelMachine, shape: Shape | None, given: Sequence[Any], span: Span | None
) -> None:
    """Raise an error if a value is repeated along other axes than that of the rows."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    if len(given) == 1 and isinstance(given[0], Tensor):
        sizes = machine.graph.shape(given[0]) or ()
    own = shape[len(shape) - len(sizes[1:]) :] if shape is not None and sizes else ()
    if any(mine == 1 and size not in (1, -1) for mine, size in zip(own, sizes[1:], strict=False)):
        raise UnreadableError("a value is repeated along other axes than that of the rows", span)


def _says_type(node: ast.Call, module: Module) -> bool:
    """Whether an argument is the type of something: `x.to(y.dtype)`."""
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    return any(module.text(each).endswith("dtype") for each in arguments)


def _is_type(value: Any) -> bool:
    return isinstance(value, str | Library)


def _converted(machine: ModelMachine, held: Tensor, words: set[str]) -> Tensor:
    """Return a value as a number, where it is true or false and not to be that."""
    if held.number in machine.graph.truths and not words & _TRUTH:
        return machine.graph.apply("number", [held], {})
    return held


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
    if row.kind == "choose":
        settings = bound(row, given, named, span)
        return chosen(machine, [settings[word] for word in ("condition", "kept", "other")], span)
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
    if inputs and all(isinstance(each, Constant) for each in inputs):
        if row.kind == "identity":
            return inputs[0]
        return computed(row.kind, inputs, bound(row, rest, named, span), span)
    inputs = [valued(machine, each) for each in inputs]
    if not inputs or not all(isinstance(each, Tensor) for each in inputs):
        raise UnreadableError("an operation on something that is no value of the model", span)
    if row.kind == "identity":
        types = (*rest, *named.values())
        words = {
            v if isinstance(v, str) else v.name.rpartition(".")[2] for v in types if _is_type(v)
        }
        return _converted(machine, inputs[0], words)
    settings = bound(row, rest, named, span)
    if row.kind == "compare":
        operator = _OPERATORS[settings["operator"]]
        return compared(machine, operator, inputs[0], settings["value"], span)
    if row.kind == "pieces":
        return pieces(machine, inputs[0], settings, span)
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
) -> Any:
    """Return `left op right` where at least one is a value of the model, or constants."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return combined(kind, left, right, span)
    left, right = valued(machine, left), valued(machine, right)
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if kind is ast.MatMult:
            return machine.graph.apply("matmul", [left, right], {})
        if kind is ast.Mult and _is_sign(machine, left, right):
            return machine.graph.apply("abs", [left], {})
        if kind in _ARITHMETIC:
            return machine.graph.apply(_ARITHMETIC[kind], [left, right], {})
        if kind in _JOINED and {left.number, right.number} <= machine.graph.truths:
            return machine.graph.apply(_JOINED[kind], [left, right], {})
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
        if kind is ast.Pow and tensor is left:
            return machine.graph.apply("power", [tensor], {"exponent": number})
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
    if tensor.is_turned and key in (0, 1, -1):
        plain = replace(tensor, is_turned=False)
        return size_of(machine, plain, {0: 1, 1: 0}.get(key, key), node, module)
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
            is_known = shape[axis] is not None and (axis or tensor.number in machine.graph.rowless)
            return shape[axis] if is_known else Dim(tensor, axis)
        return Dim(tensor, key)
    return machine.opaque(node, module)


def part_of_tensor(
    machine: ModelMachine, tensor: Tensor, node: ast.Subscript, frame: Variables
) -> Tensor:
    """Return a part of a value: one entry of an axis, ranges of axes, new axes."""
    parts, from_end = parts_of(machine, node, frame)
    graph, span = machine.graph, frame.module.span(node)
    is_turned = False
    if tensor.is_turned:
        steps, rows, *others = [*parts, slice(None), slice(None)][: max(len(parts), 2)]
        parts, is_turned = [rows, steps, *others], isinstance(steps, slice)
        tensor = replace(tensor, is_turned=False)
        if from_end:
            raise UnreadableError("this part of a value is not carried", span)
    whole = slice(None, None, None)
    if tensor.number not in graph.rowless and not from_end and parts[0] != whole:
        raise UnreadableError("this part of a value is not carried", span)
    entries = [place for place, part in enumerate(parts) if part != whole]
    is_last = from_end and entries == [len(parts) - 1]
    if len(entries) == 1 and isinstance(parts[entries[0]], int) and (is_last or not from_end):
        axis = -1 if from_end else entries[0]
        value = graph.apply("part", [tensor], {"axis": axis, "index": parts[entries[0]]})
    elif not entries:
        return replace(tensor, is_turned=is_turned)
    else:
        if from_end and None in parts:
            raise UnreadableError("this part of a value is not carried", span)
        inputs: list[Any] = [tensor]
        chosen = ranges(parts, inputs, node, frame)
        value = graph.apply("slice", inputs, {"parts": chosen, "from_end": from_end})
    return replace(value, is_turned=is_turned)


def part_of_constant(
    machine: ModelMachine, held: Constant, node: ast.Subscript, frame: Variables
) -> Constant | Tensor:
    """Return a part of constants: constants, or a value where the part depends on an input."""
    parts, from_end = parts_of(machine, node, frame)
    inputs: list[Any] = []
    chosen = ranges(parts, inputs, node, frame)
    if inputs or from_end:
        return part_of_tensor(machine, machine.graph.constant(held), node, frame)
    return sliced(held, chosen)


def assign_part(
    machine: ModelMachine, held: Constant, target: ast.Subscript, value: Any, frame: Variables
) -> None:
    """Assign to a part of constants."""
    parts, from_end = parts_of(machine, target, frame)
    inputs: list[Any] = []
    chosen = ranges(parts, inputs, target, frame)
    if inputs or from_end:
        text = frame.module.text(target)[:60]
        raise UnreadableError(f"{text} is assigned to", frame.module.span(target))
    assigned(held, chosen, value, frame.module.span(target))


def compared(
    machine: ModelMachine, kind: type[ast.AST], left: Any, right: Any, span: Span | None
) -> Tensor | Constant:
    """Return `left op right`, a value that is true or false for every number."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return combined(kind, left, right, span)
    if not isinstance(left, Tensor) and isinstance(left, int | float):
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    certain((left, right))
    word = COMPARES[kind]
    if isinstance(right, int | float):
        settings = {"operator": word, "value": right}
        return machine.graph.apply("compare", [left], settings)
    tensors = [valued(machine, side) for side in (left, right)]
    if not all(isinstance(each, Tensor) for each in tensors):
        raise UnreadableError("this comparison is not carried", span)
    return machine.graph.apply("compare", tensors, {"operator": word, "value": None})


def valued(machine: ModelMachine, held: Any) -> Any:
    """Return constants as a value of the model, and everything else as it is."""
    constant = as_constant(held)
    return machine.graph.constant(constant) if constant is not None else held


def chosen(machine: ModelMachine, given: Sequence[Any], span: Span | None) -> Tensor:
    """Return `where(condition, x, y)`, of which one may be a number."""
    certain(given)
    condition, kept, other = (valued(machine, each) for each in given)
    if isinstance(condition, Tensor) and condition.number in machine.graph.truths:
        match kept, other:
            case Tensor(), Tensor():
                return machine.graph.apply("choose", [condition, kept, other], {})
            case Tensor(), int() | float():
                hidden = machine.graph.apply("not", [condition], {})
                return machine.graph.apply("fill", [kept, hidden], {"value": float(other)})
            case int() | float(), Tensor():
                return machine.graph.apply("fill", [other, condition], {"value": float(kept)})
    raise UnreadableError("a choice between two values is not carried", span)


def pieces(machine: ModelMachine, tensor: Tensor, settings: Any, span: Span | None) -> list[Tensor]:
    """Return the parts into which a value is split along an axis."""
    shape = machine.graph.shape(tensor)
    axis = settings["axis"]
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    if size is None or shape is None or axis % len(shape) == 0 or tensor.is_turned:
        raise UnreadableError("a value of which no size is known is split", span)
    sizes = settings.get("sizes")
    if "count" in settings:
        sizes = -(-size // settings["count"])
    if isinstance(sizes, int):
        sizes = [min(sizes, size - start) for start in range(0, size, sizes)]
    if not isinstance(sizes, list | tuple) or sum(sizes) != size:
        raise UnreadableError("the sizes of the parts of a value are not known", span)
    cuts, start = [], 0
    for width in sizes:
        parts = (*[WHOLE] * (axis % len(shape)), Range(start, start + width))
        cut = {"parts": parts, "from_end": False}
        cuts.append(machine.graph.apply("slice", [tensor], cut))
        start += width
    return cuts
