"""How a tensor of a framework is laid out, and its canonical form, which is PyTorch's.

From the framework's array to the canonical one, in this order:

    expand   reshape it to these sizes
    axes     order of the axes, as for `numpy.transpose`
    part     (k, n): of n equal parts along the first axis, the part k
    (shape)  reshape it to the shape of the canonical tensor
    gates    order of the blocks along the first axis
    term     (k, n): the framework's tensor is the sum of n canonical ones, of which this is k

The parts of a tensor are separate canonical tensors: packed attention kernels have three.
Converting to the framework adds terms; converting back gives the sum to the first term and 0 to the
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]


class Misfit(ValueError):
    """An array or a shape does not have the layout; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of a tensor; the default is the canonical one."""

    expand: Shape | None = None
    axes: tuple[int, ...] | None = None
    part: tuple[int, int] | None = None
    gates: tuple[int, ...] | None = None
    term: tuple[int, int] | None = None

    @property
    def turns(self) -> bool:
        """Whether a matrix swaps its rows and columns."""
        return self.axes == (1, 0)


SAME = Layout()


def expanded_shape(layout: Layout, shape: Shape) -> Shape:
    """Return the shape of a framework's tensor before its axes are moved.

    Raises:
        Misfit: The layout is not one of such a tensor.
    """
    sizes = shape if layout.expand is None else layout.expand
    if math.prod(sizes) != math.prod(shape):
        raise Misfit(f"{list(shape)} cannot be expanded to {list(sizes)}")
    axes = layout.axes
    if axes is not None and sorted(axes) != list(range(len(sizes))):
        raise Misfit(f"{list(sizes)} has {len(sizes)} axes, not {list(axes)}")
    return sizes


def moved_shape(layout: Layout, shape: Shape) -> Shape:
    """Return the shape of a framework's tensor after its axes were moved.

    Raises:
        Misfit: The layout is not one of such a tensor.
    """
    sizes = expanded_shape(layout, shape)
    return sizes if layout.axes is None else tuple(sizes[axis] for axis in layout.axes)


def check(layout: Layout, shape: Shape, canonical: Shape) -> None:
    """Check that a tensor of a shape has a canonical one of the other shape by the layout.

    Raises:
        Misfit: It has not.
    """
    moved = moved_shape(layout, shape)
    size = math.prod(moved)
    if layout.part is not None:
        count = layout.part[1]
        if not moved or moved[0] % count:
            raise Misfit(f"{list(moved)} cannot be cut into {count} equal parts")
        size //= count
    if size != math.prod(canonical):
        raise Misfit(f"{list(shape)} does not fit {list(canonical)}")
    if layout.gates is not None and (not canonical or canonical[0] % len(layout.gates)):
        raise Misfit(f"{list(canonical)} has no {len(layout.gates)} equal blocks")


def to_canonical(array: np.ndarray, layout: Layout, canonical: Shape) -> np.ndarray:
    """Return the canonical form of a framework's array; of a term, the whole sum.

    Raises:
        Misfit: Array, layout and shape do not fit.
    """
    check(layout, array.shape, canonical)
    canonical_array = array.reshape(expanded_shape(layout, array.shape))
    if layout.axes is not None:
        canonical_array = canonical_array.transpose(layout.axes)
    if layout.part is not None:
        number, count = layout.part
        size = len(canonical_array) // count
        canonical_array = canonical_array[number * size : (number + 1) * size]
    canonical_array = canonical_array.reshape(canonical)
    return canonical_array if layout.gates is None else reordered(canonical_array, layout.gates)


def reordered(array: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """Return an array with equal blocks along its first axis in another order."""
    shape = array.shape
    blocks_of_array = array.reshape(len(blocks), shape[0] // len(blocks), *shape[1:])
    return blocks_of_array[list(blocks)].reshape(shape)


def from_canonical(parts: Sequence[tuple[np.ndarray, Layout]], shape: Shape) -> np.ndarray:
    """Return the framework's array of a shape.

    Args:
        parts: All canonical tensors that it consists of, with their layouts: one, the parts in any
            order, or the terms.
        shape: Of the framework's tensor.

    Raises:
        Misfit: They are not all of it.
    """
    import numpy as np

    first = parts[0][1]
    for array, layout in parts:
        check(layout, shape, array.shape)
    check_whole([layout for _, layout in parts])
    moved = moved_shape(first, shape)
    ordered = sorted(parts, key=lambda pair: pair[1].part or (0, 1))
    plain = [
        array if y.gates is None else reordered(array, inverse(y.gates)) for array, y in ordered
    ]
    if first.part is not None:
        size = moved[0] // first.part[1]
        framework_array = np.concatenate([array.reshape(size, *moved[1:]) for array in plain])
    else:
        framework_array = sum(plain[1:], plain[0]).reshape(moved)
    if first.axes is not None:
        framework_array = framework_array.transpose(inverse(first.axes))
    return np.ascontiguousarray(framework_array.reshape(shape))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the order that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def check_whole(layouts: Sequence[Layout]) -> None:
    """Check that layouts of one tensor are all of its parts or all of its terms, each once.

    Raises:
        Misfit: They are not.
    """
    if any((a.expand, a.axes) != (b.expand, b.axes) for a, b in pairwise(layouts)):
        raise Misfit("its parts have different axes")
    if len(layouts) == 1 and layouts[0].part is None and layouts[0].term is None:
        return
    for kind in ("part", "term"):
        shares = [getattr(layout, kind) for layout in layouts]
        if None not in shares:
            counts = {count for _, count in shares}
            if len(counts) == 1 and sorted(k for k, _ in shares) == list(range(*counts)):
                return
            numbers = ", ".join(f"{k} of {n}" for k, n in sorted(shares))
            raise Misfit(f"has only {numbers} as a {kind}, or one twice")
    raise Misfit("is used twice")
