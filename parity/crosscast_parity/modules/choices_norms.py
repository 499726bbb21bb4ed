"""What normalizations would return with each epsilon, and with other statistics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crosscast_parity.modules import formulas
from crosscast_parity.modules.kinds import WORDS
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]
EPSILONS = (1e-5, 1e-3, 1e-6, 1e-12, 1e-8, 1e-7, 1e-4, 1e-2, 0.0)


def batch_norms(step: Step) -> Choices:
    """Yield batch normalization by running statistics with each epsilon, and by the batch's."""
    statistics = [step.tensors.get(role, ()) for role in ("mean", "variance")]
    if any(len(arrays) != 1 for arrays in statistics) or "kernel" in step.tensors:
        return
    x = step.x[0].astype(np.float64)
    shape = [1, -1, *[1] * (x.ndim - 2)]
    if x.ndim < 2 or x.shape[1] != statistics[0][0].size:
        return
    mean, variance = (arrays[0].astype(np.float64).reshape(shape) for arrays in statistics)
    scale, shift = _affine(step, x.shape[1])
    if {scale.size, shift.size} != {x.shape[1]}:
        return
    for eps in EPSILONS:
        y = formulas.normalized(x, mean, variance, eps)
        yield f"{eps:g}", y * scale.reshape(shape) + shift.reshape(shape)
    axes = (0, *range(2, x.ndim))
    y = formulas.normalized(x, x.mean(axes, keepdims=True), x.var(axes, keepdims=True), 1e-5)
    yield "statistics of the batch", y * scale.reshape(shape) + shift.reshape(shape)


def layer_norms(step: Step) -> Choices:
    """Yield layer normalization with each epsilon, and with other variances."""
    x = _normalized_last(step)
    if x is None:
        return
    scale, shift = _affine(step, x.shape[-1])
    mean = x.mean(-1, keepdims=True)
    for eps in EPSILONS:
        variance = x.var(-1, keepdims=True)
        yield f"{eps:g}", formulas.normalized(x, mean, variance, eps) * scale + shift
    for eps in EPSILONS:
        unbiased = x.var(-1, keepdims=True, ddof=1)
        y = formulas.normalized(x, mean, unbiased, eps)
        yield f"{eps:g}, unbiased variance", y * scale + shift
        y = (x - mean) / (x.std(-1, keepdims=True, ddof=1) + eps)
        yield f"{eps:g} beside the deviation", y * scale + shift


def rms_norms(step: Step) -> Choices:
    """Yield division by the root of the mean square, with each epsilon."""
    x = _normalized_last(step)
    if x is None:
        return
    scale, shift = _affine(step, x.shape[-1])
    square = (x**2).mean(-1, keepdims=True)
    for eps in EPSILONS:
        yield f"{eps:g}", formulas.normalized(x, np.zeros_like(square), square, eps) * scale + shift
        yield f"{eps:g} beside the root", x / (np.sqrt(square) + eps) * scale + shift


def group_norms(step: Step) -> Choices:
    """Yield group normalization with each number of groups and each epsilon.

    A group for every channel is instance normalization.
    """
    x = step.x[0].astype(np.float64)
    named = step.group in ("group norm", "instance norm")
    if (not named and (step.group == "" or step.group in WORDS)) or x.ndim < 3:
        return
    channels = x.shape[1]
    if set(step.tensors) - {"scale", "bias"} or any(len(a) != 1 for a in step.tensors.values()):
        return
    scale, shift = _affine(step, channels)
    if {scale.size, shift.size} != {channels}:
        return
    shape = [1, -1, *[1] * (x.ndim - 2)]
    for groups in (n for n in range(1, channels + 1) if channels % n == 0):
        parts = x.reshape(len(x), groups, -1)
        mean, variance = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
        for eps in EPSILONS:
            y = formulas.normalized(parts, mean, variance, eps).reshape(x.shape)
            yield f"{groups} groups, {eps:g}", y * scale.reshape(shape) + shift.reshape(shape)


def _normalized_last(step: Step) -> np.ndarray | None:
    """Return the input of a normalization of the last axis; None for another step."""
    if step.group == "" or set(step.tensors) - {"scale", "bias"} or "scale" not in step.tensors:
        return None
    x = step.x[0].astype(np.float64)
    sizes = {a.size for arrays in step.tensors.values() for a in arrays}
    if len(step.tensors["scale"]) != 1 or not x.ndim or sizes != {x.shape[-1]}:
        return None
    return x


def _affine(step: Step, size: int) -> tuple[np.ndarray, np.ndarray]:
    scale = step.tensors.get("scale", (np.ones(size),))[0]
    shift = step.tensors.get("bias", (np.zeros(size),))[0]
    return scale.astype(np.float64), shift.astype(np.float64)
