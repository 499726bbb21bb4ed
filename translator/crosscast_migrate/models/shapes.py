"""Shapes of the values of a forward pass, and sizes of layers that follow from their input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crosscast_migrate.models.network import Channels, Settings, Shape, UnreadableError
from crosscast_migrate.models.slices import SizeOf, shape_of_parts

POINTWISE = frozenset(
    {
        *("relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "silu", "softplus", "sigmoid"),
        *("tanh", "identity", "dropout", "exp", "abs", "sign", "sqrt", "scale", "shift"),
        *("sin", "cos", "log", "power", "number", "not"),
    }
)
"""Operations of each number by itself."""
PAIRWISE = frozenset({"add", "subtract", "multiply", "divide"})
_BROADCAST = frozenset({*PAIRWISE, "compare", "and", "or", "fill", "choose"})
ON_IMAGES = frozenset(
    {
        *("conv", "max_pool", "avg_pool", "global_avg", "global_max", "adaptive_avg"),
        *("adaptive_max", "zero_pad", "known_model"),
    }
)
"""Operations on images, which every framework has for one layout only."""


def completed(kind: str, settings: dict[str, Any], shape: Shape | None, channels: Channels) -> None:
    """Fill the sizes of a layer that its source leaves to the shape of the input.

    Raises:
        UnreadableError: the shape is not known.
    """
    missing = {
        "linear": "inputs",
        "conv": "inputs",
        "batch_norm": "features",
        "layer_norm": "shape",
    }
    name = missing.get(kind, "")
    if not name or settings.get(name) is not None:
        return
    axis = 1 if channels == "first" else -1
    size = shape[axis] if shape is not None and len(shape) > 1 else None
    if size is None:
        raise UnreadableError(f"the size of the input of a layer ({kind}) is not in the source")
    settings[name] = (size,) if kind == "layer_norm" else size


def inferred(
    kind: str, settings: Settings, shapes: Sequence[Shape | None], channels: Channels
) -> Shape | None:
    """Return the shape of a result; None if not even the number of its dimensions is known."""
    first = shapes[0] if shapes else None
    if kind in POINTWISE or kind in ("batch_norm", "layer_norm", "softmax", "log_softmax"):
        return first
    if kind in _BROADCAST:
        return _broadcast(shapes)
    if kind in ON_IMAGES:
        return _of_image(kind, settings, first, channels)
    if first is None:
        return None
    handler = _HANDLERS.get(kind)
    return handler(settings, first, shapes) if handler is not None else None


def _broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or not known:
        return None
    longest = max(map(len, known))
    known = [(*[1] * (longest - len(shape)), *shape) for shape in known]
    return tuple(_larger(sizes) for sizes in zip(*known, strict=True))


def _larger(sizes: Sequence[int | None]) -> int | None:
    others = {size for size in sizes if size != 1}
    return others.pop() if len(others) == 1 else (1 if not others else None)


def _of_image(
    kind: str, settings: Settings, shape: Shape | None, channels: Channels
) -> Shape | None:
    rank = settings["rank"]
    if shape is None:
        shape = (None,) * (rank + 2)
    if len(shape) != rank + 2:
        raise UnreadableError(f"a layer for {rank + 2} dimensions gets {len(shape)}")
    places = range(2, rank + 2) if channels == "first" else range(1, rank + 1)
    depth = shape[1] if channels == "first" else shape[-1]
    sizes: list[int | None]
    if kind == "known_model":
        return (shape[0], settings["classes"])
    if kind in ("global_avg", "global_max"):
        if not settings["keepdims"]:
            return (shape[0], depth)
        sizes = [1] * rank
    elif kind in ("adaptive_avg", "adaptive_max"):
        sizes = list(settings["size"])
    else:
        sizes = [slid(shape[place], settings, axis, kind) for axis, place in enumerate(places)]
    depth = settings["filters"] if kind == "conv" else depth
    return (shape[0], depth, *sizes) if channels == "first" else (shape[0], *sizes, depth)


def slid(size: int | None, settings: Settings, axis: int, kind: str) -> int | None:
    """Return the size of an axis after a window has moved along it."""
    if size is None:
        return None
    if kind == "zero_pad":
        return int(size + sum(settings["pairs"][axis]))
    stride = settings["stride"][axis]
    if settings["padding"] == "same":
        return int(-(-size // stride))
    window = settings.get("dilation", (1,) * 3)[axis] * (settings["kernel"][axis] - 1) + 1
    return int((size + sum(settings["padding"][axis]) - window) // stride + 1)


def _linear(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return (*shape[:-1], settings["units"])


def _embedding(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return (*shape, settings["width"])


def _flatten(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    end = settings["end"] % len(shape)
    start = settings["start"] % len(shape)
    return (*shape[:start], _product(shape[start : end + 1]), *shape[end + 1 :])


def _product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


def _reshape(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    wanted: list[int | None] = []
    for size in settings["shape"]:
        wanted.append(_size(shapes[size.place], size.axis) if isinstance(size, SizeOf) else size)
    if None in wanted[1:] and -1 in wanted:
        return tuple(None if size == -1 else size for size in wanted)
    if wanted[0] is not None or -1 not in wanted:
        return tuple(None if size == -1 else size for size in wanted)
    whole = _product(shape[1:])
    others = math.prod(size for size in wanted[1:] if size is not None and size != -1)
    rest = whole // others if whole is not None and others else None
    return tuple(rest if size == -1 else size for size in wanted)


def _size(shape: Shape | None, axis: int) -> int | None:
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None


def _permute(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return tuple(shape[axis] for axis in settings["axes"])


def _reduced(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    axes = {axis % len(shape) for axis in settings["axis"]}
    if settings["keepdims"]:
        return tuple(1 if place in axes else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in axes)


def _concat(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape | None:
    if any(other is None or len(other) != len(shape) for other in shapes):
        return None
    axis = settings["axis"] % len(shape)
    sizes = [other[axis] for other in shapes if other is not None]
    whole = None if None in sizes else sum(size for size in sizes if size is not None)
    return (*shape[:axis], whole, *shape[axis + 1 :])


def _unsqueeze(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    axis = settings["axis"] % (len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def _squeeze(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    axis = settings["axis"] % len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def _swap(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    axes = list(shape)
    first, second = settings["first"] % len(axes), settings["second"] % len(axes)
    axes[first], axes[second] = axes[second], axes[first]
    return tuple(axes)


def _slice(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    parts = settings["parts"]
    start = len(shape) - len(parts) if settings["from_end"] else 0
    return (*shape[:start], *shape_of_parts(shape[start:], parts))


def _matmul(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape | None:
    other = shapes[1]
    if other is None or len(other) != len(shape):
        return None
    return (*shape[:-1], other[-1])


def _causal(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return (_size(shape, -2), _size(shapes[1], -2))


def _expand_rows(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return (None, *shape[1:])


def _attend(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    value = shapes[2]
    return (*shape[:-1], value[-1] if value is not None else None)


def _recurrent(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    return (*shape[:-1], settings["units"])


def _part(settings: Settings, shape: Shape, shapes: Sequence[Shape | None]) -> Shape:
    axis = settings["axis"] % len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


_HANDLERS = {
    "linear": _linear,
    "embedding": _embedding,
    "flatten": _flatten,
    "reshape": _reshape,
    "permute": _permute,
    "mean": _reduced,
    "sum": _reduced,
    "max": _reduced,
    "concat": _concat,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "part": _part,
    "swap": _swap,
    "slice": _slice,
    "matmul": _matmul,
    "expand_rows": _expand_rows,
    "attend": _attend,
    "causal": _causal,
    "recurrent": _recurrent,
}
