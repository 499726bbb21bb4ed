"""Derivatives of maxima in Paddle, as JSON: the sum of all, which are ones, and the largest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional as F


def total(take: Callable[[Any], Any], sizes: tuple[int, ...]) -> list[float]:
    """Return the sum and the largest derivative of all maxima of random numbers."""
    numbers = np.random.default_rng(0).normal(size=sizes).astype(np.float32)
    x = paddle.to_tensor(numbers, stop_gradient=False)
    take(x).sum().backward()
    derivative = x.grad.numpy()
    return [float(derivative.sum()), float(abs(derivative).max())]


VOLUME, IMAGE = (2, 3, 2, 3, 2), (2, 3, 4, 3)
DERIVATIVES = {
    "axes of a volume": total(lambda x: x.amax(axis=(2, 3, 4), keepdim=True), VOLUME),
    "one axis after the other": total(
        lambda x: x.amax(2, True).amax(3, True).amax(4, True).squeeze((2, 3, 4)), VOLUME
    ),
    "adaptive": total(lambda x: F.adaptive_max_pool3d(x, 1), VOLUME),
    "axes of an image": total(lambda x: x.amax(axis=(2, 3), keepdim=False), IMAGE),
}
print(json.dumps({name: [repr(number) for number in pair] for name, pair in DERIVATIVES.items()}))
