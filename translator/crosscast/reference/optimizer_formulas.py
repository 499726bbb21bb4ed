"""The optimizer formulas of `crosscast.plan.operations.Step` on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from crosscast.plan.operations import Step

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]
Slots = Mapping[str, Array]
"""The moments of one parameter, by name of the moment."""
Updated = tuple[Array, dict[str, Array]]


def slot_shapes(op: Step, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the moments of a parameter with this shape."""
    if op.optimizer == "sgd":
        return {"momentum_buffer": shape} if op.momentum else {}
    if op.optimizer == "lion":
        return {"exp_avg": shape}
    if op.optimizer != "adafactor":
        return {"exp_avg": shape, "exp_avg_sq": shape}
    if len(shape) < 2:
        return {"variance": shape}
    return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}


def settings_of(op: Step, name: str, roles: Collection[str]) -> tuple[float, float]:
    """Return the weight decay of a parameter and the factor of its learning rate."""
    decay = op.weight_decay if not set(roles) & set(op.no_decay) else 0.0
    for group in op.groups:
        if any(fnmatchcase(name, pattern) for pattern in group.parameters):
            own = group.weight_decay
            return (decay if own is None else own), group.rate_factor
    return decay, 1.0


def update(
    op: Step, weight: Array, gradient: Array, slots: Slots, *, rate: float, t: int, decay: float
) -> Updated:
    """Return the new weight and moments of one parameter; `Step` documents the formulas.

    `rate` is the learning rate of this parameter, `t` the number of this update from 1, `decay`
    its weight decay. Weight, gradient and result have one shape and dtype; none is changed.
    """
    return _FORMULAS[op.optimizer](op, weight, gradient, slots, rate, t, decay)


def _sgd(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    if decay:
        gradient = gradient + decay * weight
    if not op.momentum:
        return weight - rate * gradient, {}
    held = slots["momentum_buffer"]  # zero before the first update
    if op.rate_in_momentum:
        buffer = op.momentum * held - rate * gradient
        change = op.momentum * buffer - rate * gradient if op.nesterov else buffer
        return weight + change, {"momentum_buffer": buffer}
    buffer = op.momentum * held + gradient
    direction = gradient + op.momentum * buffer if op.nesterov else buffer
    return weight - rate * direction, {"momentum_buffer": buffer}


def _moments(op: Step, gradient: Array, slots: Slots) -> dict[str, Array]:
    beta1, beta2 = op.betas
    return {
        "exp_avg": beta1 * slots["exp_avg"] + (1.0 - beta1) * gradient,
        "exp_avg_sq": beta2 * slots["exp_avg_sq"] + (1.0 - beta2) * gradient * gradient,
    }


def _corrections(op: Step, t: int) -> tuple[float, float]:
    if not op.bias_correction:
        return 1.0, 1.0
    return 1.0 - op.betas[0] ** t, 1.0 - op.betas[1] ** t


def _adam(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    return _adaptive(op, weight, gradient + decay * weight if decay else gradient, slots, rate, t)


def _adamw(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    return _adaptive(op, weight * (1.0 - rate * decay), gradient, slots, rate, t)


def _adaptive(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int
) -> Updated:
    moments, (first, second) = _moments(op, gradient, slots), _corrections(op, t)
    root = np.sqrt(moments["exp_avg_sq"])
    if op.eps_placement == "before_correction":
        step = rate * math.sqrt(second) / first
        return weight - step * moments["exp_avg"] / (root + op.eps), moments
    root = root / math.sqrt(second) + op.eps
    return weight - rate / first * moments["exp_avg"] / root, moments


def _lamb(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    moments, (first, second) = _moments(op, gradient, slots), _corrections(op, t)
    root = np.sqrt(moments["exp_avg_sq"]) / math.sqrt(second) + op.eps
    direction = moments["exp_avg"] / first / root + decay * weight
    ratio: Any = 1.0
    if decay or op.always_adapt:
        length, step = _norm(weight), _norm(direction)
        ratio = length / step if length > 0 and step > 0 else 1.0
    return weight - rate * ratio * direction, moments


def _lion(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    beta1, beta2 = op.betas
    held = slots["exp_avg"]
    sign = np.sign(beta1 * held + (1.0 - beta1) * gradient)
    mean = beta2 * held + (1.0 - beta2) * gradient
    return weight * (1.0 - rate * decay) - rate * sign, {"exp_avg": mean}


def _adafactor(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int, decay: float
) -> Updated:
    share, lowest = t**op.beta2_decay, op.factored_eps[0]
    square = gradient * gradient
    if weight.ndim < 2:
        variance = (1.0 - share) * slots["variance"] + share * square
        moments = {"variance": variance}
    else:
        means = {
            "row_var": square.mean(-1, keepdims=True),
            "col_var": square.mean(-2, keepdims=True),
        }
        moments = {n: (1.0 - share) * slots[n] + share * mean for n, mean in means.items()}
        rows = moments["row_var"]
        scale = np.maximum(rows.mean(-2, keepdims=True), np.float32(lowest))
        variance = rows * moments["col_var"] / scale
    direction = gradient / np.sqrt(np.maximum(variance, np.float32(lowest**2)))
    length = max(op.factored_eps[1], float(_norm(weight)) / math.sqrt(weight.size))
    spread = float(_norm(direction)) / math.sqrt(direction.size)
    step = length * min(rate, 1.0 / math.sqrt(t)) / max(1.0, spread / op.clip_threshold)
    return weight * (1.0 - rate * decay) - step * direction, moments


def sum_of_squares(array: Array) -> Any:
    """Return `np.sum(array * array)`, in half the time for a small array."""
    return np.add.reduce(array * array, axis=None)


def _norm(array: Array) -> Any:
    return np.sqrt(sum_of_squares(array))


_FORMULAS: dict[str, Callable[[Step, Array, Array, Slots, float, int, float], Updated]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adamw,
    "lamb": _lamb,
    "lion": _lion,
    "adafactor": _adafactor,
}
