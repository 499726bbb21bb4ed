"""Rows of the tables that say how a framework lays out the tensors of its layers.

A row makes the canonical tensors of one tensor of a framework; their layout is PyTorch's.
`crosscast.weights.layout` says what the fields mean. Tables stand in the backends, in
`inside/layers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

Shape = Sequence[int]


class Part(NamedTuple):
    """A canonical tensor. `suffix`: what tells it from others of the same tensor."""

    role: str
    shape: Shape
    suffix: str = ""
    axes: Optional[Sequence[int]] = None  # noqa: UP045  # read by Python 3.9, too
    part: Optional[Sequence[int]] = None  # noqa: UP045
    gates: Optional[Sequence[int]] = None  # noqa: UP045
    term: Optional[Sequence[int]] = None  # noqa: UP045
    known: bool = True
    """Whether the layout is that of a known layer, not only a guess by name and shape."""


RowMaker = Callable[[Shape, Any], "list[Part]"]
"""Makes the parts of a tensor from its shape and its layer."""
Table = Mapping[str, Mapping[str, RowMaker]]
"""Class of a layer, name of the tensor in it, row."""


def as_it_is(role: str) -> RowMaker:
    """Return the row of a tensor in the canonical layout."""
    return lambda shape, layer: [Part(role, shape)]


def moved(role: str, axes: Sequence[int], gates: Optional[Sequence[int]] = None) -> RowMaker:  # noqa: UP045
    """Return the row of a tensor whose axes have another order."""

    def row(shape: Shape, layer: Any) -> list[Part]:
        return [Part(role, [shape[axis] for axis in axes], axes=axes, gates=gates)]

    return row


def kernel_last(shape: Shape, layer: Any) -> list[Part]:
    """Return the part of a kernel [sizes..., in, out] of a convolution."""
    count = len(shape)
    axes = [count - 1, count - 2, *range(count - 2)]
    return [Part("kernel", [shape[axis] for axis in axes], axes=axes)]


def depthwise_last(shape: Shape, layer: Any) -> list[Part]:
    """Return the part of a kernel [sizes..., in, multiplier]: output in * multiplier + m."""
    count = len(shape)
    sizes = list(shape[: count - 2])
    axes = [count - 2, count - 1, *range(count - 2)]
    return [Part("kernel", [shape[-2] * shape[-1], 1, *sizes], axes=axes)]


RNN_CELL = {
    f"{kind}_{of}": as_it_is(f"{role}_{of}")
    for kind, role in (("weight", "kernel"), ("bias", "bias"))
    for of in ("ih", "hh")
}
"""The tensors of a recurrent cell in the canonical layout."""
MOST_LAYERS = 16
RNN = {
    f"{name}_l{number}{way}": row
    for name, row in RNN_CELL.items()
    for number in range(MOST_LAYERS)
    for way in ("", "_reverse")
}
"""Those of stacked recurrent layers, in one or both directions."""


def packed(role: str, names: Sequence[str]) -> RowMaker:
    """Return the row of equal parts along the first axis."""

    def row(shape: Shape, layer: Any) -> list[Part]:
        count = len(names)
        size = [shape[0] // count, *shape[1:]]
        return [Part(role, size, name, part=[k, count]) for k, name in enumerate(names)]

    return row


def both_biases(shape: Shape, layer: Any) -> list[Part]:
    """Return the two biases of which a single one is the sum."""
    return [
        Part("bias_ih", shape, "input", term=[0, 2]),
        Part("bias_hh", shape, "hidden", term=[1, 2]),
    ]


def flat(role: str) -> RowMaker:
    """Return the row of a tensor that is compared as a vector."""
    return lambda shape, layer: [Part(role, [math.prod(shape)])]


GUESSES = {
    "weight": "",
    "kernel": "kernel",
    "gamma": "scale",
    "scale": "scale",
    "beta": "bias",
    "bias": "bias",
    "embeddings": "embedding",
    "running_mean": "mean",
    "moving_mean": "mean",
    "_mean": "mean",
    "running_var": "variance",
    "moving_variance": "variance",
    "moving_var": "variance",
    "_variance": "variance",
}
"""Roles of tensors of other layers by their names; statistics only where nothing trains them."""
STATISTICS = ("mean", "variance")


def own_classes(layer: Any, packages: tuple[str, ...]) -> list[str]:
    """Return the names of the classes of a layer that are the framework's own, the nearest first.

    `packages`: beginnings of the modules that define them.
    """
    own = (kind for kind in type(layer).__mro__ if kind.__module__.startswith(packages))
    return [kind.__name__ for kind in own]


def parts_of(
    table: Table, classes: Sequence[str], name: str, shape: Shape, layer: Any, trainable: bool
) -> list[Part]:
    """Return the canonical tensors of a tensor.

    Args:
        table: Of the framework.
        classes: Those of the layer that are the framework's own, the nearest first.
        name: Of the tensor in its layer.
        shape: Of the tensor.
        layer: Of the framework.
        trainable: Whether the optimizer changes it.
    """
    for kind in classes:
        row = table.get(kind, {}).get(name)
        if row is not None:
            return row(shape, layer)
    role = GUESSES.get(name, "")
    if role in STATISTICS and trainable:
        role = ""
    return [Part(role, shape, known=False)]
