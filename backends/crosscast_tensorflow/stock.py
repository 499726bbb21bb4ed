"""The Keras optimizers that match a recipe exactly, and their calls."""

from __future__ import annotations

from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step


def stock_call(plan: Plan, *, keras3: bool) -> str:
    """Return the call of a class of Keras; empty where the script needs one of its own.

    The moments of Keras 2 are held in another way by almost every release: of its optimizers only
    SGD without momentum is used. Those of Keras 3 would sum the gradients of all processes again.
    """
    step = plan.get(Step)
    if step.groups or predicates.half_weights(plan) or predicates.processes(plan) > 1:
        return ""
    if step.optimizer == "sgd":
        return "" if step.weight_decay else _sgd(step, keras3=keras3)
    if keras3 and step.optimizer == "lion":
        return f"keras.optimizers.Lion(LEARNING_RATE, *BETAS{_decay(step.weight_decay)})"
    return ""


def _sgd(step: Step, *, keras3: bool) -> str:
    if not step.momentum:
        return "keras.optimizers.SGD(LEARNING_RATE)"
    if not (keras3 and step.rate_in_momentum):
        return ""
    nesterov = f", nesterov={py_literal(True)}" if step.nesterov else ""
    return f"keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM{nesterov})"


def _decay(weight_decay: float) -> str:
    return ", weight_decay=WEIGHT_DECAY" if weight_decay else ""


def stock_slots(step: Step) -> tuple[tuple[str, str], ...]:
    """Return the moments of a stock optimizer: canonical name, and how their paths end in Keras."""
    if step.optimizer == "sgd":
        return (("momentum_buffer", "_momentum"),) if step.momentum else ()
    return (("exp_avg", "_momentum"),)
