"""The Keras optimizers that match a recipe exactly, and their calls."""

from __future__ import annotations

from crosscast.emit.render import py_literal
from crosscast.recipe.document import Lion, Recipe, Sgd


def stock_call(recipe: Recipe, *, keras3: bool) -> str:
    """Return the call of a class of Keras; empty where the script needs one of its own.

    The moments of Keras 2 are held in another way by almost every release: of its optimizers only
    SGD without momentum is used. Those of Keras 3 would sum the gradients of all processes again.
    """
    optimizer = recipe.optimizer
    if optimizer.groups or recipe.precision.mode == "full" or recipe.processes > 1:
        return ""
    if isinstance(optimizer, Sgd):
        return "" if optimizer.weight_decay else _sgd(optimizer, keras3=keras3)
    if not keras3:
        return ""
    if isinstance(optimizer, Lion):
        return f"keras.optimizers.Lion(LEARNING_RATE, *BETAS{_decay(optimizer.weight_decay)})"
    return ""


def _sgd(optimizer: Sgd, *, keras3: bool) -> str:
    if not optimizer.momentum:
        return "keras.optimizers.SGD(LEARNING_RATE)"
    if not (keras3 and optimizer.rate_in_momentum):
        return ""
    nesterov = f", nesterov={py_literal(True)}" if optimizer.nesterov else ""
    return f"keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM{nesterov})"


def _decay(weight_decay: float) -> str:
    return ", weight_decay=WEIGHT_DECAY" if weight_decay else ""


def stock_slots(recipe: Recipe) -> tuple[tuple[str, str], ...]:
    """Return the moments of a stock optimizer: canonical name, and how their paths end in Keras."""
    if isinstance(recipe.optimizer, Sgd):
        return (("momentum_buffer", "_momentum"),) if recipe.optimizer.momentum else ()
    return (("exp_avg", "_momentum"),)
