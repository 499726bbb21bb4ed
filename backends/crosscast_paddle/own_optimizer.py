"""Optimizers that Paddle lacks, or has in another form: what their templates print."""

from __future__ import annotations

from typing import Any

from crosscast.emit.render import py_literal
from crosscast.recipe.document import Adafactor, Adam, AdamW, Lamb, Lion, Optimizer, Sgd

_UNPACK: tuple[str, ...] = (
    "weight, gradient = param_and_grad",
    "rate = self._create_param_lr(param_and_grad)",
)


def own_optimizer(optimizer: Optimizer, *, grouped: bool, decays: bool) -> dict[str, Any] | None:
    """Return the view of the class that the script brings; None where Paddle's means the same.

    Args:
        optimizer: The recipe's optimizer.
        grouped: Whether the parameters come in groups with settings of their own.
        decays: Whether weight decay applies to any parameter.
    """
    view = _own(optimizer)
    if view is None:
        return None
    base: dict[str, Any] = {"numbered": False, "math": False, "constants": (), "arguments": ()}
    decoupled = isinstance(optimizer, AdamW | Lamb | Lion | Adafactor)
    decay = 'group["decay"]' if grouped else "WEIGHT_DECAY"
    view = base | view | {"decay": decay if decays and decoupled else "", "decoupled": decoupled}
    lines = _UNPACK
    if grouped and view["decay"]:
        lines = ('group, param_and_grad = param_and_grad, param_and_grad["params"]', *lines)
    elif grouped:
        lines = ('param_and_grad = param_and_grad["params"]', *lines)
    slots = py_literal(_slots(optimizer))
    view["constants"] = (*view["constants"], f"SLOTS = {slots}")
    return view | {"unpack": lines, "adapt": _adapt(optimizer, grouped=grouped, decays=decays)}


def _own(optimizer: Optimizer) -> dict[str, Any] | None:
    match optimizer:
        case Sgd(rate_in_momentum=True):
            return _rate_in_momentum(optimizer)
        case Adam() | AdamW():
            return _adam(optimizer)
        case Lamb(bias_correction=False):
            return {
                "kind": "lamb",
                "cls": "UncorrectedLamb",
                "doc": "LAMB without bias correction; Paddle's always corrects (CC351).",
                "constants": _adam_constants(optimizer),
            }
        case Lion():
            return {
                "kind": "lion",
                "cls": "Lion",
                "doc": "Lion: steps by the sign of an average; not in Paddle (CC349).",
                "constants": (f"BETAS = {py_literal(optimizer.betas)}",),
            }
        case Adafactor():
            return _adafactor(optimizer)
        case _:
            return None


def _rate_in_momentum(optimizer: Sgd) -> dict[str, Any]:
    return {
        "kind": "momentum",
        "cls": "MomentumOfSteps",
        "doc": "SGD with the learning rate inside the momentum, as in Keras (CC350).",
        "nesterov": optimizer.nesterov,
        "constants": (f"MOMENTUM = {py_literal(optimizer.momentum)}",),
    }


def _adam(optimizer: Adam | AdamW) -> dict[str, Any] | None:
    if optimizer.bias_correction and optimizer.eps_placement == "after_correction":
        return None
    family = "AdamW" if isinstance(optimizer, AdamW) else "Adam"
    view: dict[str, Any] = {"kind": "adam", "constants": _adam_constants(optimizer)}
    if not optimizer.bias_correction:
        doc = f"{family} without bias correction; Paddle's always corrects (CC351)."
        return view | {"cls": f"Uncorrected{family}", "doc": doc}
    doc = f"{family} with epsilon before the bias correction, as in Keras (CC351)."
    return view | {"cls": f"EpsilonHat{family}", "doc": doc, "numbered": True, "math": True}


def _adam_constants(optimizer: Adam | AdamW | Lamb) -> tuple[str, ...]:
    return (f"BETAS = {py_literal(optimizer.betas)}", f"EPS = {py_literal(optimizer.eps)}")


def _adafactor(optimizer: Adafactor) -> dict[str, Any]:
    return {
        "kind": "adafactor",
        "cls": "Adafactor",
        "doc": "Adafactor in PyTorch's form; not in Paddle (CC349).",
        "numbered": True,
        "math": True,
        "constants": (
            f"BETA2_DECAY = {py_literal(optimizer.beta2_decay)}",
            f"EPS = {py_literal(optimizer.eps)}",
            f"CLIP_THRESHOLD = {py_literal(optimizer.clip_threshold)}",
        ),
    }


def _slots(optimizer: Optimizer) -> tuple[str, ...]:
    """Return the names of the moments, those of every framework's checkpoints."""
    match optimizer:
        case Sgd():
            return ("momentum_buffer",)
        case Lion():
            return ("exp_avg",)
        case Adafactor():
            return ("row_var", "col_var", "variance")
        case _:
            return ("exp_avg", "exp_avg_sq")


def _adapt(optimizer: Optimizer, *, grouped: bool, decays: bool) -> str:
    """Return which parameters LAMB adapts the length of the step for."""
    if not isinstance(optimizer, Lamb):
        return ""
    if optimizer.always_adapt or (decays and not grouped):
        return "always"
    return "decayed" if decays else "never"
