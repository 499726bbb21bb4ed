"""Recipe to optimizer: constants, arguments and rules of the emitted optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step
from crosscast_torch.adaptations import TorchAdaptation
from crosscast_torch.literals import assignment
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.roles import without_roles

STOCK_ADAFACTOR = "torch.optim.Adafactor"
_CLASSES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "Lamb",
    "lion": "Lion",
    "adafactor": "Adafactor",
}
_DECAYS = {
    "sgd": "Coupled (L2) weight decay",
    "adam": "Coupled (L2) weight decay",
    "lamb": "Weight decay, part of the adapted step,",
}


@dataclass(frozen=True, slots=True)
class _Family:
    """An optimizer class: its name, its arguments besides rate and decay, and its docstring."""

    cls: str
    values: dict[str, Any] = field(default_factory=dict)
    own: str = ""
    """Template of the class if the script brings it along."""
    fusable: bool = False


def _family(plan: Plan) -> _Family:
    values: dict[str, Any]
    step, own = plan.get(Step), TorchAdaptation.OWN_OPTIMIZER in plan.adapted
    match step.optimizer:
        case "sgd" if TorchAdaptation.OWN_MOMENTUM in plan.adapted:
            return _Family("MomentumSGD", {"momentum": step.momentum}, own="momentum")
        case "sgd":
            values = {"momentum": step.momentum, "nesterov": step.nesterov}
            values = {name: value for name, value in values.items() if value}
            fusable = TorchAdaptation.UNFUSED_MOMENTUM not in plan.adapted
            return _Family("torch.optim.SGD", values, fusable=fusable)
        case "adam" | "adamw":
            values = {"betas": step.betas, "eps": step.eps}
            return _Family(f"torch.optim.{_CLASSES[step.optimizer]}", values, fusable=True)
        case "lamb":
            values = {"betas": step.betas, "eps": step.eps}
        case "lion":
            values = {"betas": step.betas}
        case "adafactor":
            values = {
                "beta2_decay": step.beta2_decay,
                "eps": step.factored_eps,
                "d": step.clip_threshold,
            }
    cls = _CLASSES[step.optimizer]
    own_template = step.optimizer if own else ""
    return _Family(cls if own else f"torch.optim.{cls}", values, own=own_template)


def raw_moments(plan: Plan) -> Literal["", "epsilon", "both"]:
    """Return which terms of Adam use moments without bias correction: none, epsilon, or both."""
    if TorchAdaptation.UNCORRECTED in plan.adapted:
        return "both"
    return "epsilon" if TorchAdaptation.RAW_EPSILON in plan.adapted else ""


def optimizer_view(
    plan: Plan, overrides: TorchOverrides, features: frozenset[str]
) -> dict[str, Any]:
    """Return what the template of the optimizer prints."""
    step, family = plan.get(Step), _family(plan)
    fused = overrides.fused_optimizer and family.fusable and "fused" in features
    decays = without_roles(step.no_decay, features) if step.weight_decay else ()
    rates = any(group.rate_factor != 1.0 for group in step.groups)
    # The rate of a group is set when it is made, unless every window sets another one.
    fixed = predicates.constant_rate(plan) and raw_moments(plan) != "both"
    names = {name: "CLIP_THRESHOLD" if name == "d" else name.upper() for name in family.values}
    arguments = ["lr=LEARNING_RATE", *(f"{name}={names[name]}" for name in family.values)]
    if not decays and not step.groups:
        arguments.append("weight_decay=WEIGHT_DECAY")
    if fused:
        arguments.append("fused=True")
    constants = [f"{names[name]} = {py_literal(value)}" for name, value in family.values.items()]
    groups = tuple((g.parameters, g.weight_decay, g.rate_factor) for g in step.groups)
    return {
        "cls": family.cls,
        "name": family.cls.removeprefix("torch.optim."),
        "own": family.own,
        "constants": (*constants, f"WEIGHT_DECAY = {py_literal(step.weight_decay)}"),
        "groups": assignment("GROUPS", groups) if groups else (),
        "rates": rates and not fixed,
        "group_rates": rates and fixed,
        "arguments": tuple(arguments),
        "decays": decays,
        "doc": _doc(plan, family, decays, unfused=not fused and _would_fuse(overrides, features)),
        "nesterov": step.nesterov,
        "bias_correction": step.bias_correction,
        "always_adapt": step.always_adapt,
        "raw_moments": raw_moments(plan),
        "math": _needs_math(plan, family),
        # Younger than the dialect.
        "since": "2.5" if family.cls == STOCK_ADAFACTOR else "",
        "title": "PyTorch 2.5 or newer" if family.cls == STOCK_ADAFACTOR else "",
        "requirement": "torch>=2.5" if family.cls == STOCK_ADAFACTOR else "",
        "decoupled": step.optimizer == "adamw" and predicates.decays(step),
    }


def _needs_math(plan: Plan, family: _Family) -> bool:
    if family.own == "lamb":
        return plan.get(Step).bias_correction
    return family.own == "adafactor" or bool(raw_moments(plan))


def _would_fuse(overrides: TorchOverrides, features: frozenset[str]) -> bool:
    return overrides.fused_optimizer and "fused" in features


def _doc(plan: Plan, family: _Family, decays: tuple[str, ...], *, unfused: bool) -> str:
    step, cls = plan.get(Step), family.cls.removeprefix("torch.optim.")
    decay = _DECAYS.get(step.optimizer, "Decoupled weight decay")
    doc = f"{cls}. {decay} on every parameter."
    if step.groups:
        doc = f"{cls}. {decay} and rates by name."
    elif decays:
        doc = f"{cls}. {decay} where `decays` says so."
    elif not step.weight_decay:
        doc = f"{cls} without weight decay."
    return (
        f"{doc} Not fused (CC315)."
        if unfused and TorchAdaptation.UNFUSED_MOMENTUM in plan.adapted
        else doc
    )
