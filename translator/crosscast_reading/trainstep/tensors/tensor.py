"""What is known of a tensor within a forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.libraries.precision_words import Operations

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

Cause = Literal["norm", "cast", "scores", "weights"]
"""norm: it is float32, since a normalization returned that. cast: since it was cast.
scores: a product of two activations. weights: the softmax of one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node and its module."""

    node: ast.AST
    module: Module

    @property
    def text(self) -> str:
        """The source text in one line."""
        return self.module.text(self.node)


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a tensor is what it is."""

    cause: Cause
    place: Place
    via: Place | None = None
    """The sum or pointwise operation that it went into since then, whose result is like it."""
    row: Operations | None = None
    """Of a normalization."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor, or a tuple of them."""

    moves: bool = False
    """Whether it is an activation: it comes from a layer and not from the arguments or weights."""
    half: bool = False
    """Whether it is certainly stored in half."""
    marks: frozenset[Mark] = frozenset()
    parts: tuple[Tensor, ...] = ()
    """Of a tuple."""

    def marked(self, *causes: Cause) -> list[Mark]:
        """Return the marks of some causes in the order of the text, those of parts included."""
        own = sorted((mark for mark in self.marks if mark.cause in causes), key=_position)
        return [*own, *(mark for part in self.parts for mark in part.marked(*causes))]

    @property
    def whole(self) -> Tensor:
        """The tensor itself; of a tuple, one that stands for all its parts."""
        return united(self.parts) if self.parts else self


def _position(mark: Mark) -> tuple[str, int, int]:
    node = mark.place.node
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return (mark.place.module.source.name, line, column)


NOTHING = Tensor()
"""A number, a weight, an argument, or something unknown."""


def united(tensors: Iterable[Tensor]) -> Tensor:
    """Return one tensor for several that are put together: it is like any of them."""
    given = [tensor.whole for tensor in tensors]
    moving = [tensor for tensor in given if tensor.moves]
    return Tensor(
        moves=bool(moving),
        half=bool(moving) and all(tensor.half for tensor in moving),
        marks=frozenset(mark for tensor in given for mark in tensor.marks),
    )


def agreed(first: Tensor, second: Tensor) -> Tensor:
    """Return a tensor for one of two: that which holds of both."""
    if first == second:
        return first
    if first.parts and len(first.parts) == len(second.parts):
        parts = zip(first.parts, second.parts, strict=True)
        return Tensor(parts=tuple(agreed(one, other) for one, other in parts))
    first, second = first.whole, second.whole
    return Tensor(
        moves=first.moves and second.moves,
        half=first.half and second.half,
        marks=frozenset((*_also_in(second, first), *_also_in(first, second))),
    )


def _also_in(other: Tensor, tensor: Tensor) -> Iterable[Mark]:
    """Return the marks of a tensor with causes that the other one has as well."""
    for mark in tensor.marks:
        like = [each for each in other.marks if each.cause == mark.cause]
        if like:
            summed = mark.via is not None and all(each.via is not None for each in like)
            yield mark if summed else replace(mark, via=None)
