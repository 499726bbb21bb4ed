"""What layers compute, in NumPy and float64, with every choice as an argument."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Array = np.ndarray
Pads = Sequence[tuple[int, int]]


def convolution(
    x: Array,
    kernel: Array,
    stride: Sequence[int],
    pads: Pads,
    groups: int,
    dilation: Sequence[int] = (1, 1),
) -> Array:
    """Return the convolution of [rows, channels, height, width]."""
    size = [1 + (k - 1) * d for k, d in zip(kernel.shape[2:], dilation, strict=True)]
    windows = _windows(_padded(x, pads, 0.0), size, stride)
    windows = windows[..., :: dilation[0], :: dilation[1]]
    rows, channels = x.shape[:2]
    split = windows.reshape(rows, groups, channels // groups, *windows.shape[2:])
    parts = kernel.astype(np.float64).reshape(groups, -1, *kernel.shape[1:])
    convolved = np.einsum("ngchwij,gocij->ngohw", split, parts, optimize=True)
    return np.asarray(convolved.reshape(rows, -1, *convolved.shape[3:]))


def pooled(
    x: Array,
    size: Sequence[int],
    stride: Sequence[int],
    pads: Pads,
    *,
    kind: str,
    beyond: Sequence[int] = (0, 0),
) -> Array:
    """Return maxima (`max`) or means, of all values of a window (`all`) or of those that are not
    padding (`real`). What is `beyond` the padding, where sizes are rounded up, is never counted."""
    ends = [(0, more) for more in beyond]

    def windows(values: Array, padding: float, outside: float) -> Array:
        return _windows(_padded(_padded(values, pads, padding), ends, outside), size, stride)

    if kind == "max":
        return np.asarray(windows(x, -np.inf, -np.inf).max((-2, -1)))
    total = windows(x, 0.0, 0.0).sum((-2, -1))
    counted = windows(np.ones((1, 1, *x.shape[2:])), float(kind == "all"), 0.0)
    return np.asarray(total / counted.sum((-2, -1)))


def same_pads(shape: Sequence[int], size: Sequence[int], stride: Sequence[int]) -> Pads:
    """Return the padding of `same`: what is odd goes to the end."""
    pads = []
    for n, k, s in zip(shape, size, stride, strict=True):
        total = max((math.ceil(n / s) - 1) * s + k - n, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def normalized(x: Array, mean: Array, variance: Array, eps: float) -> Array:
    """Return values without scale and shift."""
    return np.asarray((x - mean) / np.sqrt(variance + eps))


def resized(x: Array, sizes: Sequence[int], rule: str) -> Array:
    """Return images of other sizes.

    Args:
        x: [rows, channels, height, width].
        sizes: The new ones.
        rule: `half pixel`, `corners`, `asymmetric` (all bilinear) or `nearest`.
    """
    images = x.astype(np.float64)
    for axis, size in zip((2, 3), sizes, strict=True):
        old = x.shape[axis]
        at = np.arange(size)
        if rule == "nearest":
            images = np.take(images, np.minimum(at * old // size, old - 1), axis)
            continue
        places = {
            "half pixel": (at + 0.5) * old / size - 0.5,
            "corners": at * (old - 1) / max(1, size - 1),
            "asymmetric": at * old / size,
        }[rule]
        places = np.clip(places, 0, old - 1)
        low = np.floor(places).astype(int)
        high = np.minimum(low + 1, old - 1)
        share = (places - low).reshape([-1 if n == axis else 1 for n in range(4)])
        images = np.take(images, low, axis) * (1 - share) + np.take(images, high, axis) * share
    return images


def attention(query: Array, key: Array, value: Array, *, scale: float, mask: str) -> Array:
    """Return the values that heads attend to, [rows, heads, tokens, size]."""
    scores = query @ np.swapaxes(key, -1, -2) * scale
    tokens = scores.shape[-1]
    if mask != "none":
        seen = {"causal": 0, "strictly causal": -1, "one token ahead": 1}[mask]
        visible = np.tril(np.ones((tokens, tokens), bool), seen)
        visible[0, 0] = True
        scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ value)


def lstm(x: Array, ih: Array, hh: Array, bias: Array, gates: Sequence[int]) -> Array:
    """Return all states of an LSTM for [rows, steps, inputs].

    Args:
        x: Inputs.
        ih: Weights of inputs, [4 * width, inputs].
        hh: Weights of states.
        bias: The sum of both.
        gates: Which block is the input gate, forget gate, cell and output gate.
    """
    rows, steps, _ = x.shape
    width = hh.shape[1]
    state, cell = np.zeros((rows, width)), np.zeros((rows, width))
    states = []
    for step in range(steps):
        blocks = (x[:, step] @ ih.T + state @ hh.T + bias).reshape(rows, 4, width)
        i, f, g, o = (blocks[:, gate] for gate in gates)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        states.append(state)
    return np.stack(states, 1)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


_erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu_erf(x: Array) -> Array:
    """Return GELU by the error function."""
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def gelu_tanh(x: Array) -> Array:
    """Return GELU as tanh approximates it."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return np.asarray(0.5 * x * (1 + np.tanh(inner)))


def _padded(x: Array, pads: Pads, value: float) -> Array:
    return np.pad(x.astype(np.float64), [(0, 0), (0, 0), *map(tuple, pads)], constant_values=value)


def _windows(x: Array, size: Sequence[int], stride: Sequence[int]) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(size), (2, 3))  # type: ignore[call-overload]
    return np.asarray(windows[:, :, :: stride[0], :: stride[1]])
