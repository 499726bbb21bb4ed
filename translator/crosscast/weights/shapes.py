"""The shape of a framework's tensor, as its canonical ones and their layouts imply it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crosscast.weights.document import Entry, Place
from crosscast.weights.layout import Layout, Misfit, Shape, check, check_whole, inverse


def implied_shape(layout: Layout, canonical: Shape) -> Shape | None:
    """Return the shape that a tensor of a layout has; None if it does not follow."""
    if layout.expand is not None:
        return None
    moved = canonical
    if layout.part is not None:
        if not canonical:
            return None
        moved = (canonical[0] * layout.part[1], *canonical[1:])
    if layout.axes is None:
        return moved
    if len(layout.axes) != len(moved):
        return None
    return tuple(moved[axis] for axis in inverse(layout.axes))


def shape_of(held: Sequence[tuple[Entry, Place]]) -> Shape:
    """Return the shape of a framework's tensor from all entries that it has a place in.

    Raises:
        Misfit: They contradict each other, or are not all of it.
    """
    shapes = {place.shape or implied_shape(place.layout, entry.shape) for entry, place in held}
    if None in shapes:
        raise Misfit("needs its shape")
    if len(shapes) > 1:
        texts = " and ".join(str(list(shape)) for shape in shapes if shape is not None)
        raise Misfit(f"has the shapes {texts}")
    (shape,) = shapes
    assert shape is not None
    if min(shape, default=1) < 1 or math.prod(shape) > 2**40:
        raise Misfit(f"has the shape {list(shape)}")
    for entry, place in held:
        check(place.layout, shape, entry.shape)
    check_whole([place.layout for _, place in held])
    return shape
