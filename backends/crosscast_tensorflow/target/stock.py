"""The Keras optimizers that match a recipe exactly, and their calls."""

from __future__ import annotations

from crosscast.emit.render import py_literal
from crosscast.plan.operations import Step


def stock_call(step: Step) -> str:
    """Return the call of the class of Keras that means the same."""
    if step.optimizer == "lion":
        return f"keras.optimizers.Lion(LEARNING_RATE, *BETAS{_decay(step.weight_decay)})"
    if not step.momentum:
        return "keras.optimizers.SGD(LEARNING_RATE)"
    nesterov = f", nesterov={py_literal(True)}" if step.nesterov else ""
    return f"keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM{nesterov})"


def _decay(weight_decay: float) -> str:
    return ", weight_decay=WEIGHT_DECAY" if weight_decay else ""
