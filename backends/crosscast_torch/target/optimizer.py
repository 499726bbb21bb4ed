"""Recipe to optimizer: constants, arguments and rules of the emitted optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from crosscast.emit.literals import assignment
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step
from crosscast.targets.backend import Dialect
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.overrides import TorchOverrides
from crosscast_torch.target.roles import without_roles

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


Own = Literal["", "momentum", "lamb", "lion", "adafactor"]
RawMoments = Literal["", "epsilon", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsView:
    """The float32 weights, which the optimizer updates, and what code calls them."""

    masters: bool
    """Whether the model has half copies of them."""
    collects: Literal["", "micro_batch", "window"]
    """After what the gradients of the copies are added to theirs."""

    @property
    def type(self) -> Literal["nn.Parameter", "torch.Tensor"]:
        """Their type."""
        return "torch.Tensor" if self.masters else "nn.Parameter"

    @property
    def of_p(self) -> Literal["p", "master(p)"]:
        """That of the parameter `p`."""
        return "master(p)" if self.masters else "p"

    @property
    def of_parameter(self) -> Literal["parameter", "master(parameter)"]:
        """That of the parameter `parameter`."""
        return "master(parameter)" if self.masters else "parameter"

    @property
    def all(self) -> Literal["model.parameters()", "weights(model)"]:
        """All of them."""
        return "weights(model)" if self.masters else "model.parameters()"


def weights_view(plan: Plan) -> WeightsView:
    """Return the view of a plan's weights."""
    collects: Literal["", "micro_batch", "window"] = "window" if predicates.half_sums(plan) else ""
    if TorchAdaptation.FLOAT32_SUMS in plan.adapted:
        collects = "micro_batch"
    masters = TorchAdaptation.MASTER_WEIGHTS in plan.adapted
    return WeightsView(masters=masters, collects=collects)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerView:
    """The optimizer: its class, and how it is made."""

    op: Step
    cls: str
    """The class, as code."""
    own: Own
    """The template of the class if the script brings it along."""
    doc: str
    constants: tuple[str, ...]
    arguments: tuple[str, ...]
    decays: tuple[str, ...]
    """Body of the function that tells which parameters decay; empty if all of them do, or none."""
    groups: tuple[str, ...]
    """Lines of the constant with the parameter groups; none without any."""
    rates: Literal["", "fixed", "moving"]
    """Whether groups have their own rates: set when they are made, or in every window."""
    raw_moments: RawMoments
    """Which terms of Adam use moments without bias correction."""

    @property
    def name(self) -> str:
        """The name of the class, for people."""
        return self.cls.removeprefix("torch.optim.")

    @property
    def math(self) -> bool:
        """Whether the class or the rates use the module `math`."""
        if self.own == "lamb":
            return self.op.bias_correction
        return self.own == "adafactor" or bool(self.raw_moments)


@dataclass(frozen=True, slots=True)
class _Family:
    """An optimizer class: its name, its arguments besides rate and decay, and its docstring."""

    cls: str
    values: dict[str, Any] = field(default_factory=dict)
    own: Own = ""
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
            fusable = TorchAdaptation.UNFUSED_BETAS not in plan.adapted
            return _Family(f"torch.optim.{_CLASSES[step.optimizer]}", values, fusable=fusable)
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
    return (
        _Family(cls, values, own=step.optimizer) if own else _Family(f"torch.optim.{cls}", values)
    )


def _raw_moments(plan: Plan) -> RawMoments:
    if TorchAdaptation.UNCORRECTED in plan.adapted:
        return "both"
    return "epsilon" if TorchAdaptation.RAW_EPSILON in plan.adapted else ""


def optimizer_view(
    plan: Plan, overrides: TorchOverrides, features: frozenset[str]
) -> OptimizerView:
    """Return the view of a plan's optimizer."""
    step, family, raw_moments = plan.get(Step), _family(plan), _raw_moments(plan)
    fused = overrides.fused_optimizer and family.fusable and "fused" in features
    decays = without_roles(step.no_decay, features) if step.weight_decay else ()
    names = {name: "CLIP_THRESHOLD" if name == "d" else name.upper() for name in family.values}
    arguments = ["lr=LEARNING_RATE", *(f"{name}={names[name]}" for name in family.values)]
    if not decays and not step.groups:
        arguments.append("weight_decay=WEIGHT_DECAY")
    if fused:
        arguments.append("fused=True")
    constants = [f"{names[name]} = {py_literal(value)}" for name, value in family.values.items()]
    groups = tuple((g.parameters, g.weight_decay, g.rate_factor) for g in step.groups)
    return OptimizerView(
        op=step,
        cls=family.cls,
        own=family.own,
        doc=_doc(plan, family, decays, unfused=not fused and _would_fuse(overrides, features)),
        constants=(*constants, f"WEIGHT_DECAY = {py_literal(step.weight_decay)}"),
        arguments=tuple(arguments),
        decays=decays,
        groups=assignment("GROUPS", groups) if groups else (),
        rates=_rates(plan, raw_moments),
        raw_moments=raw_moments,
    )


def _rates(plan: Plan, raw_moments: RawMoments) -> Literal["", "fixed", "moving"]:
    if all(group.rate_factor == 1.0 for group in plan.get(Step).groups):
        return ""
    # The rate of a group is set when it is made, unless every window sets another one.
    return "fixed" if predicates.constant_rate(plan) and raw_moments != "both" else "moving"


def with_optimizer(plan: Plan, dialect: Dialect) -> Dialect:
    """Return a dialect, from the version on that has the optimizer."""
    if _family(plan).cls != STOCK_ADAFACTOR:
        return dialect
    requirements = ("torch>=2.5", *dialect.requirements[1:])
    title = "PyTorch 2.5 or newer"
    return replace(dialect, title=title, since="2.5", requirements=requirements)


_UNFUSED = {TorchAdaptation.UNFUSED_MOMENTUM: "CC315", TorchAdaptation.UNFUSED_BETAS: "CC399"}
"""Adaptations by an optimizer that is not fused."""


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
    code = next((code for name, code in _UNFUSED.items() if name in plan.adapted), "")
    return f"{doc} Not fused ({code})." if unfused and code else doc
