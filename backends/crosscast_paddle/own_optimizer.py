"""Optimizers that Paddle lacks, or has in another form: what their templates print."""

from __future__ import annotations

from typing import Any

from crosscast.emit.render import py_literal
from crosscast.plan.operations import Plan, Step
from crosscast_paddle.adaptations import PaddleAdaptation

OWN_CLASSES = {
    PaddleAdaptation.OWN_OPTIMIZER,
    PaddleAdaptation.OWN_MOMENTUM,
    PaddleAdaptation.UNCORRECTED,
    PaddleAdaptation.RAW_EPSILON,
}
"""Adaptations by a class that the script defines."""
_FAMILIES = {"adam": "Adam", "adamw": "AdamW"}
_UNPACK: tuple[str, ...] = (
    "weight, gradient = param_and_grad",
    "rate = self._create_param_lr(param_and_grad)",
)


def own_optimizer(plan: Plan, *, grouped: bool, decays: bool) -> dict[str, Any] | None:
    """Return the view of the class that the script brings; None where Paddle's means the same.

    Args:
        plan: The plan.
        grouped: Whether the parameters come in groups with settings of their own.
        decays: Whether weight decay applies to any parameter.
    """
    step = plan.get(Step)
    view = _own(step, plan.adapted)
    if view is None:
        return None
    base: dict[str, Any] = {"numbered": False, "math": False, "constants": (), "arguments": ()}
    decoupled = step.optimizer not in ("sgd", "adam")
    decay = 'group["decay"]' if grouped else "WEIGHT_DECAY"
    view = base | view | {"decay": decay if decays and decoupled else "", "decoupled": decoupled}
    lines = _UNPACK
    if grouped and view["decay"]:
        lines = ('group, param_and_grad = param_and_grad, param_and_grad["params"]', *lines)
    elif grouped:
        lines = ('param_and_grad = param_and_grad["params"]', *lines)
    slots = py_literal(_slots(step))
    view["constants"] = (*view["constants"], f"SLOTS = {slots}")
    return view | {"unpack": lines, "adapt": _adapt(step, grouped=grouped, decays=decays)}


def _own(step: Step, adapted: frozenset[str]) -> dict[str, Any] | None:
    if PaddleAdaptation.OWN_MOMENTUM in adapted:
        return _rate_in_momentum(step)
    if PaddleAdaptation.UNCORRECTED in adapted:
        return _uncorrected(step)
    if PaddleAdaptation.RAW_EPSILON in adapted:
        return _epsilon_hat(step)
    if PaddleAdaptation.OWN_OPTIMIZER in adapted:
        return _adafactor(step) if step.optimizer == "adafactor" else _lion(step)
    return None


def _lion(step: Step) -> dict[str, Any]:
    return {
        "kind": "lion",
        "cls": "Lion",
        "doc": "Lion: steps by the sign of an average; not in Paddle (CC349).",
        "constants": (f"BETAS = {py_literal(step.betas)}",),
    }


def _rate_in_momentum(step: Step) -> dict[str, Any]:
    return {
        "kind": "momentum",
        "cls": "MomentumOfSteps",
        "doc": "SGD with the learning rate inside the momentum, as in Keras (CC350).",
        "nesterov": step.nesterov,
        "constants": (f"MOMENTUM = {py_literal(step.momentum)}",),
    }


def _uncorrected(step: Step) -> dict[str, Any]:
    if step.optimizer == "lamb":
        return {
            "kind": "lamb",
            "cls": "UncorrectedLamb",
            "doc": "LAMB without bias correction; Paddle's always corrects (CC351).",
            "constants": _adam_constants(step),
        }
    family = _FAMILIES[step.optimizer]
    return {
        "kind": "adam",
        "constants": _adam_constants(step),
        "cls": f"Uncorrected{family}",
        "doc": f"{family} without bias correction; Paddle's always corrects (CC351).",
    }


def _epsilon_hat(step: Step) -> dict[str, Any]:
    family = _FAMILIES[step.optimizer]
    return {
        "kind": "adam",
        "constants": _adam_constants(step),
        "cls": f"EpsilonHat{family}",
        "doc": f"{family} with epsilon before the bias correction, as in Keras (CC351).",
        "numbered": True,
        "math": True,
    }


def _adam_constants(step: Step) -> tuple[str, ...]:
    return (f"BETAS = {py_literal(step.betas)}", f"EPS = {py_literal(step.eps)}")


def _adafactor(step: Step) -> dict[str, Any]:
    return {
        "kind": "adafactor",
        "cls": "Adafactor",
        "doc": "Adafactor in PyTorch's form; not in Paddle (CC349).",
        "numbered": True,
        "math": True,
        "constants": (
            f"BETA2_DECAY = {py_literal(step.beta2_decay)}",
            f"EPS = {py_literal(step.factored_eps)}",
            f"CLIP_THRESHOLD = {py_literal(step.clip_threshold)}",
        ),
    }


def _slots(step: Step) -> tuple[str, ...]:
    """Return the names of the moments, those of every framework's checkpoints."""
    match step.optimizer:
        case "sgd":
            return ("momentum_buffer",)
        case "lion":
            return ("exp_avg",)
        case "adafactor":
            return ("row_var", "col_var", "variance")
        case _:
            return ("exp_avg", "exp_avg_sq")


def _adapt(step: Step, *, grouped: bool, decays: bool) -> str:
    """Return which parameters LAMB adapts the length of the step for."""
    if step.optimizer != "lamb":
        return ""
    if step.always_adapt or (decays and not grouped):
        return "always"
    return "decayed" if decays else "never"
