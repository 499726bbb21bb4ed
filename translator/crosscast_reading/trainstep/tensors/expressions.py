"""The tensors that expressions of a forward pass are, and what operations make of their types."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.precision_words import Operations
from crosscast_reading.pysource.libraries.signatures import holds
from crosscast_reading.pysource.syntax.nodes import dotted_text, keyword
from crosscast_reading.trainstep.tensors.casts import cast, target_of_method, target_type
from crosscast_reading.trainstep.tensors.layers import Layer, elements, layers_of, method_of
from crosscast_reading.trainstep.tensors.scope import ForwardScope, Reader, is_number
from crosscast_reading.trainstep.tensors.tensor import (
    NOTHING,
    Cause,
    Mark,
    Place,
    Tensor,
    agreed,
    united,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_SAME_NUMBERS = frozenset({"T", "mT", "data", "H"})
_CALLED = ".__call__"


def tensor_of(node: ast.expr | None, scope: ForwardScope, reader: Reader) -> Tensor:
    """Return the tensor that an expression is, and note those that its operations keep."""
    match node:
        case ast.Name(id=name):
            return scope.tensors.get(name, NOTHING)
        case ast.Attribute(value=inner, attr=word):
            if (known := scope.tensors.get(dotted_text(node))) is not None:
                return known
            return tensor_of(inner, scope, reader) if word in _SAME_NUMBERS else NOTHING
        case ast.Subscript(value=inner, slice=place):
            return _entry(tensor_of(inner, scope, reader), place)
        case ast.BinOp():
            return _arithmetic(node, scope, reader)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return tensor_of(inner, scope, reader)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return Tensor(parts=tuple(tensor_of(item, scope, reader) for item in items))
        case ast.IfExp(body=body, orelse=other):
            return agreed(tensor_of(body, scope, reader), tensor_of(other, scope, reader))
        case ast.NamedExpr(target=ast.Name(id=name), value=inner):
            scope.tensors[name] = tensor_of(inner, scope, reader)
            return scope.tensors[name]
        case ast.Await(value=inner) | ast.Starred(value=inner):
            return tensor_of(inner, scope, reader)
        case (
            ast.ListComp(elt=each, generators=[ast.comprehension(target=target, iter=given)])
            | ast.GeneratorExp(elt=each, generators=[ast.comprehension(target=target, iter=given)])
        ):
            return _for_each(target, each, tensor_of(given, scope, reader), scope, reader)
        case ast.Call():
            return _called(node, scope, reader)
    return NOTHING


def _entry(tensor: Tensor, place: ast.expr) -> Tensor:
    match place:
        case ast.Constant(value=int(number)) if number < len(tensor.parts):
            return tensor.parts[number]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))) if (
            0 < number <= len(tensor.parts)
        ):
            return tensor.parts[-number]
    return tensor.whole


def _for_each(
    target: ast.expr, each: ast.expr, given: Tensor, scope: ForwardScope, reader: Reader
) -> Tensor:
    """Return the tensors of `[f(t) for t in (q, k, v)]`."""
    if not isinstance(target, ast.Name):
        return NOTHING
    before = scope.tensors.get(target.id, NOTHING)
    made = []
    for tensor in given.parts or (given,):
        scope.tensors[target.id] = tensor
        made.append(tensor_of(each, scope, reader))
    scope.tensors[target.id] = before
    return Tensor(parts=tuple(made)) if given.parts else made[0]


def _arithmetic(node: ast.BinOp, scope: ForwardScope, reader: Reader) -> Tensor:
    sides = [tensor_of(side, scope, reader) for side in (node.left, node.right)]
    if isinstance(node.op, ast.MatMult):
        return _product(node, sides, scope, reader)
    if any(map(is_number, (node.left, node.right))):
        return united(sides)
    if isinstance(node.op, ast.Add | ast.Sub):
        return _added(node, sides, scope)
    return _scaled(node, sides, scope)


def _called(node: ast.Call, scope: ForwardScope, reader: Reader) -> Tensor:
    function, table = node.func, reader.table
    given = [tensor_of(argument, scope, reader) for argument in node.args]
    named = {k.arg: tensor_of(k.value, scope, reader) for k in node.keywords if k.arg}
    if isinstance(function, ast.Attribute):
        receiver = tensor_of(function.value, scope, reader)
        if receiver.whole.moves:
            return _method(node, function.attr, receiver, given, scope, reader)
    if isinstance(function, ast.Name) and function.id == "map" and len(node.args) == 2:
        match node.args[0]:
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
                target = ast.Name(id=name, ctx=ast.Store())
                return _for_each(target, body, given[1], scope, reader)
    call = scope.module.call(node)
    if re.fullmatch(table.casts, call.name) and len(node.args) > 1:
        return cast(given[0], target_type(node.args[1], scope.module, table), node, scope)
    if node.args and any(re.fullmatch(table.runs_first, name) for name in call.names):
        layers = _layers(node.args[0], scope)
        return run_layers(layers, node, given[1:], {}, scope, reader) if layers else NOTHING
    if (row := _agreed_row(call.names, scope.module, reader)) is not None:
        made = _result(row, node, _operands(given, named), scope, reader)
        return Tensor(moves=made.moves) if _has_own_type(node, scope, table.layer_type) else made
    if (defined := reader.program.function(call)) is not None:
        return reader.call(*defined, given, named, scope.half)
    layers = _layers(function, scope)
    if layers:
        return run_layers(layers, node, given, named, scope, reader)
    return _unknown(_operands(given, named))


def _has_own_type(node: ast.Call, scope: ForwardScope, argument: str) -> bool:
    """Whether a layer that is called was made with a type of its own."""
    made = layers_of(node.func, scope.module) if argument else []
    return any(keyword(layer.call, argument) is not None for layer in made)


def _operands(given: Sequence[Tensor], named: dict[str, Tensor]) -> list[Tensor]:
    return [*given, *named.values()]


def _unknown(tensors: Sequence[Tensor]) -> Tensor:
    return Tensor(moves=any(tensor.whole.moves for tensor in tensors))


def _method(
    node: ast.Call,
    word: str,
    receiver: Tensor,
    given: list[Tensor],
    scope: ForwardScope,
    reader: Reader,
) -> Tensor:
    """Return the result of a method of a tensor."""
    target = target_of_method(node, scope.module, reader.table)
    if target != "none" or word == "to":
        return cast(receiver, target, node, scope)
    row = reader.lookup.method(word)
    if row is None:
        return _unknown([receiver, *given])
    if row.kind in ("same", "pointwise", "softmax"):
        return _result(row, node, [receiver], scope, reader)
    return _result(row, node, [receiver, *given], scope, reader)


def _agreed_row(names: Sequence[str], module: Module, reader: Reader) -> Operations | None:
    """Return the row of a call that can be several; None unless they are of one kind."""
    rows = []
    for name in names:
        row = reader.lookup.named(name.removesuffix(_CALLED))
        if row is not None and not holds(module.program.version_of(name), row.since, ""):
            row = None
        rows.append(row)
    kinds = {(row.kind, row.stores) if row is not None else None for row in rows}
    return rows[0] if rows and len(kinds) == 1 else None


def _layers(function: ast.expr, scope: ForwardScope) -> list[Layer]:
    if isinstance(function, ast.Name) and function.id in scope.layers:
        return scope.layers[function.id]
    if isinstance(function, ast.Attribute) and function.attr == "__call__":
        return _layers(function.value, scope)
    return layers_of(function, scope.module)


def run_layers(
    layers: Sequence[Layer],
    node: ast.Call,
    given: Sequence[Tensor],
    named: dict[str, Tensor],
    scope: ForwardScope,
    reader: Reader,
) -> Tensor:
    """Return the result of a call that runs one of several layers."""
    row = _agreed_row([layer.name for layer in layers], scope.module, reader)
    if row is not None:
        return _result(row, node, _operands(given, named), scope, reader)
    results = [_run_layer(layer, node, given, named, scope, reader) for layer in layers]
    total = results[0]
    for other in results[1:]:
        total = agreed(total, other)
    return total


def _run_layer(
    layer: Layer,
    node: ast.Call,
    given: Sequence[Tensor],
    named: dict[str, Tensor],
    scope: ForwardScope,
    reader: Reader,
) -> Tensor:
    table = reader.table
    tensors = _operands(given, named)
    row = _agreed_row((layer.name,), scope.module, reader)
    if row is not None:
        return _result(row, node, tensors, scope, reader)
    if re.fullmatch(table.chains, layer.name):
        through = given[0] if given else NOTHING
        for inner in elements(layer, table):
            parts = inner if isinstance(inner, list) else [inner]
            through = run_layers(parts, node, [through], {}, scope, reader) if parts else NOTHING
        return through
    method = method_of(reader.program, layer.name, table.run)
    if method is not None:
        return reader.call(*method, given, named, scope.half)
    if re.fullmatch(table.layers, layer.name):
        reader.consume(tensors, Place(node, scope.module), casts=scope.half)
        return Tensor(moves=True)
    return _unknown(tensors)


def _result(
    row: Operations, node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope, reader: Reader
) -> Tensor:
    """Return the result of an operation of a table."""
    given = united(tensors)
    place = Place(node, scope.module)
    match row.kind:
        case "product":
            return _product(node, tensors, scope, reader)
        case "dense" | "attention":
            reader.consume(tensors, place, casts=scope.half)
            return Tensor(moves=True, half=scope.half)
        case "norm":
            reader.consume(tensors, place, casts=False)
            if row.stores == "input" or not scope.half:
                return _without(given, "scores", "weights")
            marks = [Mark("norm", place, row=row)] if row.stores == "float32" else []
            return Tensor(moves=True, half=row.stores == "half", marks=frozenset(marks))
        case "softmax":
            marks = [Mark("weights", place)] if any(given.marked("scores")) else []
            half = given.half and (row.stores != "float32" or not scope.half)
            return Tensor(moves=given.moves, half=half, marks=frozenset(marks))
        case "pointwise":
            casts = {
                m: replace(m, via=place) for m in given.marks if m.cause == "cast" and not m.via
            }
            marks = [casts.get(mark, mark) for mark in given.marks]
            return replace(_without(given, "scores"), marks=frozenset(marks))
        case "sum":
            return _added(node, tensors, scope)
        case "same":
            return given
        case "lookup":
            return Tensor(moves=True, half=row.stores == "half")
    return Tensor()


def _product(
    node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope, reader: Reader
) -> Tensor:
    """Return a product of matrices, which keeps its factors in half."""
    place = Place(node, scope.module)
    reader.consume(tensors, place, casts=scope.half)
    for tensor in tensors:
        for mark in tensor.marked("weights"):
            reader.findings.attentions.setdefault(mark.place, place)
    factors = [tensor.whole for tensor in tensors if tensor.whole.moves]
    of_two = len(factors) > 1 and not any(tensor.marked("weights") for tensor in factors)
    marks = [Mark("scores", place)] if of_two and scope.half else []
    return Tensor(moves=bool(factors), half=scope.half, marks=frozenset(marks))


def _added(node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope) -> Tensor:
    """Return the sum of tensors; that of two activations is what a residual stream consists of."""
    total = united(tensors)
    if sum(tensor.whole.moves for tensor in tensors) < 2:
        return total
    return _with_via(total, Place(node, scope.module), "norm", "cast")


def _scaled(node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope) -> Tensor:
    """Return the elementwise product of tensors, which keeps its factors."""
    total = united(tensors)
    if sum(tensor.whole.moves for tensor in tensors) < 2:
        return total
    return _with_via(total, Place(node, scope.module), "cast")


def _with_via(tensor: Tensor, place: Place, *causes: Cause) -> Tensor:
    """Return a tensor that went through an operation, the first one after its causes."""
    marks = (
        replace(mark, via=place) if mark.cause in causes and mark.via is None else mark
        for mark in tensor.marks
    )
    return replace(tensor, marks=frozenset(marks))


def _without(tensor: Tensor, *causes: Cause) -> Tensor:
    """Return a tensor without the marks of some causes."""
    marks = frozenset(mark for mark in tensor.marks if mark.cause not in causes)
    return replace(tensor, marks=marks)
