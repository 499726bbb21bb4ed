"""Recipe to optimizer: constants, arguments and rules of the emitted optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from crosscast.emit.render import py_literal
from crosscast.recipe import predicates
from crosscast.recipe.document import Adafactor, Adam, AdamW, Lamb, Lion, Recipe, Sgd
from crosscast_torch.conditions import raw_moments, scaled_momentum
from crosscast_torch.literals import assignment
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.roles import without_roles

STOCK_ADAFACTOR = "torch.optim.Adafactor"
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
    counts_steps: bool = True


def _family(recipe: Recipe, features: frozenset[str]) -> _Family:
    values: dict[str, Any]
    match recipe.optimizer:
        case Sgd(rate_in_momentum=True) as sgd:
            return _Family(
                "MomentumSGD", {"momentum": sgd.momentum}, own="momentum", counts_steps=False
            )
        case Sgd() as sgd:
            values = {"momentum": sgd.momentum, "nesterov": sgd.nesterov}
            values = {name: value for name, value in values.items() if value}
            fusable = not scaled_momentum(recipe)
            return _Family("torch.optim.SGD", values, fusable=fusable, counts_steps=False)
        case Adam() | AdamW() as adam:
            cls = "torch.optim.Adam" if adam.name == "adam" else "torch.optim.AdamW"
            return _Family(cls, {"betas": adam.betas, "eps": adam.eps}, fusable=True)
        case Lamb() as lamb:
            return _Family("Lamb", {"betas": lamb.betas, "eps": lamb.eps}, own="lamb")
        case Lion() as lion:
            return _Family("Lion", {"betas": lion.betas}, own="lion", counts_steps=False)
        case Adafactor() as adafactor:
            values = {
                "beta2_decay": adafactor.beta2_decay,
                "eps": adafactor.eps,
                "d": adafactor.clip_threshold,
            }
            if "adafactor" in features:
                return _Family(STOCK_ADAFACTOR, values)
            return _Family("Adafactor", values, own="adafactor")


def optimizer_view(
    recipe: Recipe, overrides: TorchOverrides, features: frozenset[str]
) -> dict[str, Any]:
    """Return what the template of the optimizer prints."""
    optimizer, family = recipe.optimizer, _family(recipe, features)
    fused = overrides.fused_optimizer and family.fusable and "fused" in features
    decays = without_roles(optimizer.no_decay, features) if optimizer.weight_decay else ()
    rates = any(group.rate_factor != 1.0 for group in optimizer.groups)
    names = {name: "CLIP_THRESHOLD" if name == "d" else name.upper() for name in family.values}
    arguments = ["lr=LEARNING_RATE", *(f"{name}={names[name]}" for name in family.values)]
    if not decays and not optimizer.groups:
        arguments.append("weight_decay=WEIGHT_DECAY")
    if fused:
        arguments.append("fused=True")
    constants = [f"{names[name]} = {py_literal(value)}" for name, value in family.values.items()]
    groups = tuple((g.parameters, g.weight_decay, g.rate_factor) for g in optimizer.groups)
    return {
        "cls": family.cls,
        "name": family.cls.removeprefix("torch.optim."),
        "own": family.own,
        "constants": (*constants, f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}"),
        "groups": assignment("GROUPS", groups) if groups else (),
        "rates": rates,
        "arguments": tuple(arguments),
        "decays": decays,
        "doc": _doc(recipe, family, decays, unfused=not fused and _would_fuse(overrides, features)),
        "nesterov": isinstance(optimizer, Sgd) and optimizer.nesterov,
        "bias_correction": getattr(optimizer, "bias_correction", False),
        "always_adapt": isinstance(optimizer, Lamb) and optimizer.always_adapt,
        "counts_steps": family.counts_steps,
        # Fused kernels keep the count of updates beside the parameter.
        "step_arguments": "float(state.updates)" + (", device=parameter.device" if fused else ""),
        "raw_moments": raw_moments(recipe),
        "math": _needs_math(recipe, family),
        # Younger than the dialect.
        "since": "2.5" if family.cls == STOCK_ADAFACTOR else "",
        "title": "PyTorch 2.5 or newer" if family.cls == STOCK_ADAFACTOR else "",
        "requirement": "torch>=2.5" if family.cls == STOCK_ADAFACTOR else "",
        "decoupled": optimizer.name == "adamw" and predicates.decays(recipe),
    }


def _needs_math(recipe: Recipe, family: _Family) -> bool:
    if family.own == "lamb":
        return bool(getattr(recipe.optimizer, "bias_correction", False))
    return family.own == "adafactor" or bool(raw_moments(recipe))


def _would_fuse(overrides: TorchOverrides, features: frozenset[str]) -> bool:
    return overrides.fused_optimizer and "fused" in features


def _doc(recipe: Recipe, family: _Family, decays: tuple[str, ...], *, unfused: bool) -> str:
    cls = family.cls.removeprefix("torch.optim.")
    decay = _DECAYS.get(recipe.optimizer.name, "Decoupled weight decay")
    doc = f"{cls}. {decay} on every parameter."
    if recipe.optimizer.groups:
        doc = f"{cls}. {decay} and rates by name."
    elif decays:
        doc = f"{cls}. {decay} where `decays` says so."
    elif not recipe.optimizer.weight_decay:
        doc = f"{cls} without weight decay."
    return f"{doc} Not fused (CC315)." if unfused and scaled_momentum(recipe) else doc
