"""Optimizers that Paddle lacks, or has in another form: what their templates print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.plan.operations import Plan, Step
from crosscast_paddle.target.adaptations import PaddleAdaptation

OWN_CLASSES = {
    PaddleAdaptation.OWN_OPTIMIZER,
    PaddleAdaptation.OWN_MOMENTUM,
    PaddleAdaptation.UNCORRECTED,
    PaddleAdaptation.RAW_EPSILON,
    PaddleAdaptation.EXACT_BETAS,
}
"""Adaptations by a class that the script defines."""
Kind = Literal["adafactor", "adam", "lamb", "lion", "momentum"]
_CORRECTED = {PaddleAdaptation.RAW_EPSILON, PaddleAdaptation.EXACT_BETAS}
_FAMILIES = {"adam": "Adam", "adamw": "AdamW", "lamb": "Lamb"}
_UNPACK: tuple[str, ...] = (
    "weight, gradient = param_and_grad",
    "rate = self._create_param_lr(param_and_grad)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOptimizerView:
    """The class that a script brings."""

    kind: Kind
    """Its update rule, a template."""
    cls: str
    doc: str
    numbered: bool
    """Whether its formulas have the number of the update."""
    decay: str
    """Decoupled decay of a parameter, as code; empty for none."""
    unpack: tuple[str, ...]
    """Statements that name weight, gradient and rate."""
    adapt: Literal["always", "decayed", "never"]
    """Which parameters LAMB adapts the length of the step for."""


def own_optimizer(plan: Plan, *, grouped: bool, decays: bool) -> OwnOptimizerView | None:
    """Return the view of the class that the script brings; None where Paddle's means the same.

    Args:
        plan: The plan.
        grouped: Whether the parameters come in groups with settings of their own.
        decays: Whether weight decay applies to any parameter.
    """
    step = plan.get(Step)
    named = _class_names(step, plan.adapted)
    if named is None:
        return None
    kind, cls, doc = named
    decay = ""
    if decays and decoupled(step):
        decay = 'group["decay"]' if grouped else "WEIGHT_DECAY"
    unpack = _UNPACK
    if grouped and decay:
        unpack = ('group, param_and_grad = param_and_grad, param_and_grad["params"]', *unpack)
    elif grouped:
        unpack = ('param_and_grad = param_and_grad["params"]', *unpack)
    return OwnOptimizerView(
        kind=kind,
        cls=cls,
        doc=doc,
        numbered=kind == "adafactor" or bool(plan.adapted & _CORRECTED),
        decay=decay,
        unpack=unpack,
        adapt=_adapt(step, grouped=grouped, decays=decays),
    )


def decoupled(step: Step) -> bool:
    """Whether weight decay is no part of the gradients."""
    return step.optimizer not in ("sgd", "adam")


def _class_names(step: Step, adapted: frozenset[str]) -> tuple[Kind, str, str] | None:
    """Return kind, name and docstring of the class."""
    if PaddleAdaptation.OWN_MOMENTUM in adapted:
        doc = "SGD with the learning rate inside the momentum, as in Keras (CC350)."
        return "momentum", "MomentumOfSteps", doc
    if PaddleAdaptation.UNCORRECTED in adapted:
        doc = "without bias correction; Paddle's always corrects (CC351)."
        family = _FAMILIES[step.optimizer]
        return _form(step), f"Uncorrected{family}", f"{family} {doc}"
    if PaddleAdaptation.EXACT_BETAS in adapted:
        family = _FAMILIES[step.optimizer]
        doc = f"{family} with betas that are not rounded to float32 (CC383)."
        return _form(step), f"Exact{family}", doc
    if PaddleAdaptation.RAW_EPSILON in adapted:
        family = _FAMILIES[step.optimizer]
        doc = f"{family} with epsilon before the bias correction, as in Keras (CC351)."
        return "adam", f"EpsilonHat{family}", doc
    if PaddleAdaptation.OWN_OPTIMIZER not in adapted:
        return None
    if step.optimizer == "adafactor":
        return "adafactor", "Adafactor", "Adafactor in PyTorch's form; not in Paddle (CC349)."
    return "lion", "Lion", "Lion: steps by the sign of an average; not in Paddle (CC349)."


def _form(step: Step) -> Kind:
    return "lamb" if step.optimizer == "lamb" else "adam"


def own_constants(kind: Kind, plan: Plan) -> tuple[str, ...]:
    """Return the constants of a class."""
    step = plan.get(Step)
    slots = f"SLOTS = {py_literal(slot_names(plan))}"
    match kind:
        case "momentum":
            return (f"MOMENTUM = {py_literal(step.momentum)}", slots)
        case "adafactor":
            return (
                f"BETA2_DECAY = {py_literal(step.beta2_decay)}",
                f"EPS = {py_literal(step.factored_eps)}",
                f"CLIP_THRESHOLD = {py_literal(step.clip_threshold)}",
                slots,
            )
    betas = f"BETAS = {py_literal(step.betas)}"
    eps = () if kind == "lion" else (f"EPS = {py_literal(step.eps)}",)
    return (betas, *eps, slots)


def _adapt(step: Step, *, grouped: bool, decays: bool) -> Literal["always", "decayed", "never"]:
    if step.optimizer == "lamb" and (step.always_adapt or (decays and not grouped)):
        return "always"
    return "decayed" if step.optimizer == "lamb" and decays else "never"
