"""The optimizer formulas of `crosscast.plan.Step` on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from crosscast.plan import Step

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]
Slots = Mapping[str, Array]
"""The moments of one parameter, by name of the moment."""

ADAM_SLOTS = ("exp_avg", "exp_avg_sq")
MOMENTUM_SLOTS = ("momentum_buffer",)


def slot_names(op: Step) -> tuple[str, ...]:
    """Return the names of the moments this optimizer keeps for every parameter."""
    if op.optimizer == "sgd":
        return MOMENTUM_SLOTS if op.momentum else ()
    return ADAM_SLOTS


def update(
    op: Step, weight: Array, gradient: Array, slots: Slots, *, rate: float, t: int, decayed: bool
) -> tuple[Array, dict[str, Array]]:
    """Return the new weight and moments of one parameter; the formulas stand at `Step`.

    `rate` is the learning rate, `t` the number of this update from 1, `decayed` whether weight
    decay applies to this parameter. All arrays have one shape and dtype; none is changed.
    """
    decay = op.weight_decay if decayed else 0.0
    if op.optimizer == "adamw":
        return _adam(op, weight * (1.0 - rate * decay), gradient, slots, rate, t)
    if decay:
        gradient = gradient + decay * weight
    if op.optimizer == "adam":
        return _adam(op, weight, gradient, slots, rate, t)
    return _sgd(op, weight, gradient, slots, rate)


def _sgd(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float
) -> tuple[Array, dict[str, Array]]:
    if not op.momentum:
        return weight - rate * gradient, {}
    buffer = op.momentum * slots["momentum_buffer"] + gradient  # zero before the first update
    direction = gradient + op.momentum * buffer if op.nesterov else buffer
    return weight - rate * direction, {"momentum_buffer": buffer}


def _adam(
    op: Step, weight: Array, gradient: Array, slots: Slots, rate: float, t: int
) -> tuple[Array, dict[str, Array]]:
    beta1, beta2 = op.betas
    mean = beta1 * slots["exp_avg"] + (1.0 - beta1) * gradient
    square = beta2 * slots["exp_avg_sq"] + (1.0 - beta2) * gradient * gradient
    root = np.sqrt(square) / math.sqrt(1.0 - beta2**t) + op.eps
    return weight - rate / (1.0 - beta1**t) * mean / root, {"exp_avg": mean, "exp_avg_sq": square}
