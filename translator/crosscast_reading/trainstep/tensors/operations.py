"""What one operation makes of the types of tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.pysource.libraries.precision_words import Operations
from crosscast_reading.trainstep.tensors.scope import ForwardScope, Reader
from crosscast_reading.trainstep.tensors.tensor import Cause, Mark, Place, Tensor, united


def result(
    row: Operations, node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope, reader: Reader
) -> Tensor:
    """Return the result of an operation of a table."""
    given = united(tensors)
    place = Place(node, scope.module)
    match row.kind:
        case "product":
            return product(node, tensors, scope, reader)
        case "dense" | "attention":
            reader.consume(tensors, place, casts=scope.half)
            return Tensor(moves=True, half=scope.half)
        case "norm":
            reader.consume(tensors, place, casts=False)
            if row.stores == "input" or not scope.half:
                return without(given, "scores", "weights")
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
            return replace(without(given, "scores"), marks=frozenset(marks))
        case "sum":
            return added(node, tensors, scope)
        case "same":
            return given
        case "lookup":
            return Tensor(moves=True, half=row.stores == "half")
    return Tensor()


def product(
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


def added(node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope) -> Tensor:
    """Return the sum of tensors; that of two activations is what a residual stream consists of."""
    total = united(tensors)
    if sum(tensor.whole.moves for tensor in tensors) < 2:
        return total
    return with_via(total, Place(node, scope.module), "norm", "cast")


def scaled(node: ast.AST, tensors: Sequence[Tensor], scope: ForwardScope) -> Tensor:
    """Return the elementwise product of tensors, which keeps its factors."""
    total = united(tensors)
    if sum(tensor.whole.moves for tensor in tensors) < 2:
        return total
    return with_via(total, Place(node, scope.module), "cast")


def with_via(tensor: Tensor, place: Place, *causes: Cause) -> Tensor:
    """Return a tensor that went through an operation, the first one after its causes."""
    marks = (
        replace(mark, via=place) if mark.cause in causes and mark.via is None else mark
        for mark in tensor.marks
    )
    return replace(tensor, marks=frozenset(marks))


def without(tensor: Tensor, *causes: Cause) -> Tensor:
    """Return a tensor without the marks of some causes."""
    marks = frozenset(mark for mark in tensor.marks if mark.cause not in causes)
    return replace(tensor, marks=marks)
