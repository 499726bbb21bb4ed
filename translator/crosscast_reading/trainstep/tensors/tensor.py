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

    def marked(self, *causes: Cause) -> Iterable[Mark]:
        """Return the marks of some causes, those of parts included."""
        own = [mark for mark in self.marks if mark.cause in causes]
        return (*own, *(mark for part in self.parts for mark in part.marked(*causes)))

    @property
    def whole(self) -> Tensor:
        """The tensor itself; of a tuple, one that stands for all its parts."""
        return united(self.parts) if self.parts else self


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
    """Return what holds of a tensor that is one of two."""
    if first == second:
        return first
    if first.parts and len(first.parts) == len(second.parts):
        parts = zip(first.parts, second.parts, strict=True)
        return Tensor(parts=tuple(agreed(one, other) for one, other in parts))
    first, second = first.whole, second.whole
    others = {(mark.cause, mark.place): mark for mark in second.marks}
    marks = (_either(mark, others.get((mark.cause, mark.place))) for mark in first.marks)
    return Tensor(
        moves=first.moves and second.moves,
        half=first.half and second.half,
        marks=frozenset(mark for mark in marks if mark is not None),
    )


def _either(mark: Mark, other: Mark | None) -> Mark | None:
    if other is None or mark.via == other.via:
        return None if other is None else mark
    return mark if mark.via is not None and other.via is not None else replace(mark, via=None)
