"""Whether two tensors can be the same, and how the second may be laid out then."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from crosscast.weights.layout import Layout, Shape
from crosscast_parity.weights.model import Part

_RECURRENT = ("ih", "hh")
Flattened = Mapping[Shape, Collection[int]]
"""Shapes of dense kernels that may stand behind a flattened image, with its possible channels."""
NONE: Flattened = MappingProxyType({})


def layouts_for(a: Part, b: Part, flattened: Flattened = NONE) -> list[Layout]:
    """Return the layouts by which `b` can be `a`, the usual one first; none if it cannot.

    Args:
        a: Its shape is that of the canonical tensor.
        b: Of another framework.
        flattened: Dense kernels whose inputs may be in another order.
    """
    if math.prod(a.shape) != math.prod(b.shape) or not same_role(a, b):
        return []
    return list(dict.fromkeys(_layouts(a, b, flattened.get(a.shape, ()))))


def _layouts(a: Part, b: Part, channels: Collection[int]) -> Iterator[Layout]:
    unknown = not (a.known and b.known)
    if a.squeezed == b.squeezed:
        yield b.layout
        if unknown and len(a.shape) == 2 and a.shape[0] == a.shape[1]:
            yield from _moved(b, (1, 0))
    if unknown:
        for axes in _orders(len(b.shape)):
            if tuple(b.shape[axis] for axis in axes) == a.shape:
                yield from _moved(b, axes)
    if a.shape == b.shape and len(a.shape) == 2:
        yield from _flattened(b, channels)


def same_role(a: Part, b: Part) -> bool:
    """Whether the roles of two tensors allow that they are the same."""
    if a.statistic or b.statistic:
        return a.role == b.role
    if a.group and b.group and a.group != b.group:
        return False
    ways = {part.role.rpartition("_")[2] for part in (a, b)} & set(_RECURRENT)
    return len(ways) < 2


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the usual orders of axes of kernels."""
    if count == 2:
        yield 1, 0
    if count > 2:
        yield (count - 1, count - 2, *range(count - 2))
        yield (*range(2, count), 1, 0)


def _moved(b: Part, axes: tuple[int, ...]) -> Iterator[Layout]:
    """Yield the layout of a tensor whose canonical axes have another order, if there is one."""
    plain = replace(b.layout, axes=None) == Layout()
    own = b.layout.axes or tuple(range(len(b.full)))
    if plain and len(own) == len(b.shape):
        order = tuple(own[axis] for axis in axes)
        yield Layout(axes=None if order == tuple(range(len(order))) else order)


def _flattened(b: Part, channels: Collection[int]) -> Iterator[Layout]:
    """Yield the layouts of a dense kernel behind a flattened image, channels first or last."""
    plain = replace(b.layout, axes=None) == Layout()
    if not plain or len(b.full) != 2 or b.group not in ("kernel", ""):
        return
    out, size = b.shape
    for count in sorted(channels):
        rest = size // count
        if count < 2 or size % count or rest < 2:
            continue
        for sizes in dict.fromkeys(((rest, count), (count, rest))):
            if b.layout.turns:
                yield Layout(expand=(*sizes, out), axes=(2, 1, 0))
            else:
                yield Layout(expand=(out, *sizes), axes=(0, 2, 1))


def flattened_kernels(models: Iterable[Iterable[Part]]) -> Flattened:
    """Return the dense kernels that run next after a convolution, whose inputs it may make.

    Args:
        models: The tensors of each model in order of execution.
    """
    by_shape: dict[Shape, set[int]] = defaultdict(set)
    for parts in models:
        behind, channels = False, set()
        for part in parts:
            if part.group not in ("kernel", ""):
                continue
            if len(part.shape) > 2:
                behind = True
                channels |= {size for size in part.shape[:2] if size > 1}
            elif len(part.shape) == 2 and part.role != "embedding":
                if behind:
                    own = {n for n in channels if part.shape[1] % n == 0 < n < part.shape[1]}
                    by_shape[part.shape] |= own
                behind = False
    return {shape: sizes for shape, sizes in by_shape.items() if sizes}


def class_of(part: Part, merged: Collection[Shape]) -> tuple[str, Shape]:
    """Return the role and the shape that all tensors share that might be the same.

    `merged`: sorted shapes for which roles do not tell tensors apart.
    """
    shape = tuple(sorted(part.squeezed))
    if part.statistic:
        return part.role, shape
    return ("" if shape in merged else part.group), shape
