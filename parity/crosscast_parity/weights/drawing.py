"""Random weights in the canonical layout, of sizes with which models compute something."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection

import numpy as np

from crosscast.weights.layout import Shape
from crosscast_parity.weights.layouts import Flattened, class_of
from crosscast_parity.weights.model import Part

SEED = 20_18
GAIN = 1.2
"""Between that of layers with ReLU, which halve, and that of layers without."""


def draw(part: Part, key: str) -> np.ndarray:
    """Return values of a tensor; they depend on its role, its shape and the key alone."""
    return _scaled(_normal(key, part.shape), part.role, part.shape)


def draw_alike(part: Part, merged: Collection[Shape], flattened: Flattened) -> np.ndarray:
    """Return values that are the same for all tensors which might be the same.

    A matrix that may be transposed is symmetric, and one behind a flattened image is the same for
    all inputs. So a model computes the same, whatever is what, and gradients tell it.

    Args:
        part: The tensor.
        merged: Sorted shapes for which roles do not tell tensors apart.
        flattened: See `flattened_kernels`.
    """
    kind, shape = class_of(part, merged)
    if kind in ("kernel", "") and part.shape in flattened:
        column = draw(part, f"flat {part.shape}")[:, :1]
        return np.ascontiguousarray(np.broadcast_to(column, part.shape))
    role = kind if len(shape) < 2 or part.statistic else "kernel"
    base = _normal(f"{kind} {shape}", shape)
    if len(shape) == 2 and shape[0] == shape[1] and shape in merged:
        base = (base + base.T) / math.sqrt(2)
    order = np.argsort(np.argsort(part.squeezed, kind="stable"), kind="stable")
    values = base.transpose(order) if len(shape) > 1 else base
    return _scaled(values.reshape(part.shape), role, part.shape)


def projection(number: int, shape: Shape) -> np.ndarray:
    """Return the factors of an output in the sum whose gradients are compared."""
    values = _normal(f"output {number}", shape) / math.sqrt(max(1, math.prod(shape)))
    return values.astype(np.float32)


def _normal(key: str, shape: Shape) -> np.ndarray:
    rng = np.random.default_rng([SEED, zlib.crc32(key.encode())])
    values: np.ndarray = rng.standard_normal(shape, dtype=np.float32)
    return values


def _scaled(values: np.ndarray, role: str, shape: Shape) -> np.ndarray:
    if role == "variance":
        positive: np.ndarray = (0.5 + np.abs(values)).astype(np.float32)
        return positive
    if role == "scale":
        return (1 + 0.2 * values).astype(np.float32)
    if len([size for size in shape if size != 1]) < 2 or role in ("mean", "bias"):
        return (0.2 * values).astype(np.float32)
    inputs = math.prod(shape) / max(shape)
    scaled: np.ndarray = (values * (GAIN / math.sqrt(inputs))).astype(np.float32)
    return scaled
