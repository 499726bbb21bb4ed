"""What convolutions, poolings and resizing would return with each choice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crosscast_parity.modules import formulas
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]
Sizes = tuple[int, ...]
NEAR = 1e-4
"""Relative difference up to which a padding that a layer tells explains what was recorded."""
STEPS = (1, 2, 3, 4)
"""Strides and dilations that are tried besides that of the layer."""


def convolutions(step: Step) -> Choices:
    """Yield a convolution with each stride, dilation and padding that gives the shape.

    Zeros around the input are padding, too: a layer before the convolution may have added them.
    """
    kernels = step.tensors.get("kernel", ())
    if step.group != "convolution" or len(kernels) != 1:
        return
    if kernels[0].ndim not in (3, 4) or not step.x[0].ndim == step.y.ndim == kernels[0].ndim:
        return
    (x, padding), kernel = _stripped(_image(step.x[0])), _image(kernels[0])
    bias = step.tensors.get("bias", (np.zeros(kernel.shape[0]),))[0].reshape(1, -1, 1, 1)
    if bias.size != kernel.shape[0] or x.shape[1] % kernel.shape[1]:
        return  # of a transposed convolution, whose kernel is [in, out, …]
    groups, wanted = x.shape[1] // kernel.shape[1], _image(step.y).shape[2:]
    for stride, dilation in itertools.product(_pairs(step, "stride"), _pairs(step, "dilation")):
        size = tuple(1 + (k - 1) * d for k, d in zip(kernel.shape[2:], dilation, strict=True))
        named = _pads(x.shape[2:], size, stride)
        if padding not in named.values():
            named["as the layer before has padded"] = padding
        results: dict[str, np.ndarray] = {}
        for name, pads in _fitting(named, x.shape[2:], size):
            if _sizes(x.shape[2:], size, stride, pads) != wanted:
                continue
            key = str(pads)
            if key not in results:
                y = formulas.convolution(x, kernel, stride, pads, groups, dilation) + bias
                results[key] = y.reshape(*y.shape[:2], *step.y.shape[2:])
            text = f"stride {_sizes_text(stride)}, dilation {_sizes_text(dilation)}, {name}"
            yield text, results[key]


def _image(array: np.ndarray) -> np.ndarray:
    """Return a series as an image of one row."""
    return array[:, :, None] if array.ndim == 3 else array


def _pairs(step: Step, setting: str) -> list[tuple[int, int]]:
    """Return the values of a setting that are tried, for height and width."""
    own = step.setting(setting, 1)
    series = step.x[0].ndim == 3
    tried = [own, *((n, n) for n in STEPS), (1, 2), (2, 1)]
    return list(dict.fromkeys((1, pair[-1]) if series else pair for pair in tried))


def _sizes_text(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _sizes(shape: Sizes, size: Sizes, stride: Sequence[int], pads: formulas.Pads) -> Sizes:
    """Return how often a window fits, along every axis."""
    axes = zip(shape, size, stride, pads, strict=True)
    return tuple((n + sum(pad) - k) // s + 1 for n, k, s, pad in axes)


def _stripped(x: np.ndarray) -> tuple[np.ndarray, formulas.Pads]:
    """Return images without the zeros around them, and how many there were."""
    pads = []
    for axis in (2, 3):
        full = np.flatnonzero(np.abs(x).max(tuple(n for n in range(4) if n != axis)))
        if not len(full):
            return x, [(0, 0), (0, 0)]
        pads.append((int(full[0]), int(x.shape[axis] - 1 - full[-1])))
    (top, bottom), (left, right) = pads
    return x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right], pads


def _pads(shape: Sizes, size: Sizes, stride: Sequence[int]) -> dict[str, formulas.Pads]:
    same = list(formulas.same_pads(shape, size, stride))
    none: formulas.Pads = [(0, 0) for _ in size]
    named: dict[str, formulas.Pads] = {
        "all sides": [(k // 2, k // 2) for k in size],
        "more at the end (`same`)": same,
        "more at the beginning": [(b, a) for a, b in same],
    }
    for width in range(1, max(size) + 1):
        named[f"{width} on every side"] = [(width if k > 1 else 0,) * 2 for k in size]
    return {"none": none, **{name: pads for name, pads in named.items() if pads != none}}


def _fitting(
    named: Mapping[str, formulas.Pads], shape: Sizes, size: Sizes
) -> Iterator[tuple[str, formulas.Pads]]:
    """Yield paddings with which the window fits at least once."""
    for name, pads in named.items():
        if all(n + sum(pad) >= k for n, pad, k in zip(shape, pads, size, strict=True)):
            yield name, pads


def pools(step: Step) -> Choices:
    """Yield pooling of each kind with each window, stride, padding, and rounding of the size.

    Padding at the end and a size that is rounded up may be the same; where the layer tells its
    padding and that fits, no other one is meant.
    """
    if step.group not in ("average pool", "max pool") or not step.x[0].ndim == step.y.ndim == 4:
        return
    own = step.setting("kernel_size", 2)
    set_pads = (
        [(p, p) for p in step.setting("padding", 0)] if _is_integer(step, "padding") else None
    )
    pooled = [
        (name, pads, y)
        for size in dict.fromkeys([own, (2, 2), (3, 3)])
        for stride in dict.fromkeys([step.setting("stride", size[0]), *((n, n) for n in STEPS)])
        for name, pads, y in _pooled(step, size, stride)
    ]
    size_of_y = float(np.abs(step.y).max(initial=0))
    meant = [
        (name, pads, y)
        for name, pads, y in pooled
        if pads == set_pads and np.abs(y - step.y).max(initial=0) <= NEAR * size_of_y
    ]
    yield from ((name, y) for name, _, y in meant or pooled)


def _is_integer(step: Step, setting: str) -> bool:
    value = step.settings.get(setting)
    return all(type(v) is int for v in (value if isinstance(value, (list, tuple)) else [value]))


def _pooled(
    step: Step, size: tuple[int, int], stride: tuple[int, int]
) -> Iterator[tuple[str, formulas.Pads, np.ndarray]]:
    """Yield poolings with a window and a stride that give the shape, and their paddings."""
    x, wanted = step.x[0], step.y.shape[2:]
    words = {"all": "counts padding", "real": "does not count padding"}
    if step.group == "max pool":
        words = {"max": "maxima"}
    for name, pads in _fitting(_pads(x.shape[2:], size, stride), x.shape[2:], size):
        if any(2 * max(pad) > k for pad, k in zip(pads, size, strict=True)):
            continue
        more = _ceiling(x.shape[2:], size, stride, pads)
        for rounding, added in (("down", (0, 0)), ("up", more)):
            wide = [(a, b + m) for (a, b), m in zip(pads, added, strict=True)]
            if _sizes(x.shape[2:], size, stride, wide) != wanted:
                continue
            text = (
                f"window {_sizes_text(size)}, stride {_sizes_text(stride)}, size rounded {rounding}"
            )
            for kind, word in words.items():
                y = formulas.pooled(x, size, stride, pads, kind=kind, beyond=added)
                yield f"{text}, {name}, {word}", pads, y


def _ceiling(
    shape: Sizes, size: Sizes, stride: Sequence[int], pads: formulas.Pads
) -> tuple[int, ...]:
    """Return the padding at the end if sizes are rounded up; no window begins in the padding."""
    extra = []
    for n, k, s, (first, last) in zip(shape, size, stride, pads, strict=True):
        count = math.ceil((n + first + last - k) / s) + 1
        if (count - 1) * s >= n + first:
            count -= 1
        extra.append(max(0, (count - 1) * s + k - n - first - last))
    return tuple(extra)


def resizes(step: Step) -> Choices:
    """Yield images resized by each rule."""
    if step.group != "resize" or (step.x[0].ndim, step.y.ndim) != (4, 4):
        return
    sizes = step.y.shape[2:]
    yield "bilinear, half-pixel centers", formulas.resized(step.x[0], sizes, "half pixel")
    yield "bilinear, aligned corners", formulas.resized(step.x[0], sizes, "corners")
    yield "bilinear, asymmetric", formulas.resized(step.x[0], sizes, "asymmetric")
    yield "nearest", formulas.resized(step.x[0], sizes, "nearest")
