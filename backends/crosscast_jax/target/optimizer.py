"""What the optimizer's templates print: transformations of optax, and the script's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.literals import assignment
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Step
from crosscast_jax.target.adaptations import JaxAdaptation
from crosscast_jax.target.roles import Spared, spared

Own = Literal["", "adam", "adafactor", "momentum"]
_TITLES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "lamb": "LAMB",
    "lion": "Lion",
    "sgd": "SGD",
    "adafactor": "Adafactor",
}
_ADAM = {
    JaxAdaptation.EXACT_CORRECTIONS,
    JaxAdaptation.RAW_EPSILON,
    JaxAdaptation.UNCORRECTED,
}
"""What optax's Adam does not do."""
_SETTINGS = ("factors", "amounts")
_DECAYS = {"coupled": "Coupled (L2)", "decoupled": "Decoupled", "inside": "Adapted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerView:
    """The optimizer: transformations of gradients, one after the other."""

    op: Step
    own: Own
    """The template of the transformation that the script brings along; empty for none."""
    chain: tuple[str, ...]
    """The transformations, as code."""
    doc: str
    constants: tuple[str, ...]
    groups: tuple[str, ...]
    """Assignment of the parameter groups, as lines; none for no groups."""
    roles: Spared | None
    """The weights that WEIGHT_DECAY does not apply to; None if it applies to all or to none."""
    decays: bool
    """Whether any weight decays."""
    corrected: bool
    """Whether the bias of the moments is corrected."""
    raw_epsilon: bool
    """Whether epsilon is added before the correction."""
    rate_inside: bool
    """Whether the transformations apply the learning rate."""

    @property
    def settings(self) -> str:
        """What the optimizer takes of the settings of groups, as code."""
        used = [name if any(name in part for part in self.chain) else "_" for name in _SETTINGS]
        return ", ".join(used)


def optimizer_view(plan: Plan) -> OptimizerView:
    """Return the view of the optimizer."""
    step, has = plan.get(Step), plan.adapted.__contains__
    roles = spared(step.no_decay) if step.weight_decay else None
    own: Own = ""
    if plan.adapted & _ADAM:
        own = "adam"
    elif has(JaxAdaptation.OWN_ADAFACTOR):
        own = "adafactor"
    elif has(JaxAdaptation.OWN_MOMENTUM):
        own = "momentum"
    grouped = bool(step.groups)
    return OptimizerView(
        op=step,
        own=own,
        chain=tuple(_chain(plan, own, masked=roles is not None or grouped)),
        doc=_doc(plan, grouped=grouped),
        constants=_constants(step),
        groups=_groups(step),
        roles=roles,
        decays=predicates.decays(step),
        corrected=not has(JaxAdaptation.UNCORRECTED),
        raw_epsilon=has(JaxAdaptation.RAW_EPSILON),
        rate_inside=own in ("momentum", "adafactor"),
    )


def _chain(plan: Plan, own: Own, *, masked: bool) -> list[str]:
    step = plan.get(Step)
    decay: list[str] = []
    if predicates.decays(step) and own != "adafactor":  # which has it inside
        if step.groups:
            decay = ["add_decay(amounts)"]
        elif masked:
            decay = ["optax.add_decayed_weights(WEIGHT_DECAY, decays(model))"]
        else:
            decay = ["optax.add_decayed_weights(WEIGHT_DECAY)"]
    coupled = JaxAdaptation.COUPLED_DECAY in plan.adapted
    parts = [*(decay if coupled else ()), *_transformation(step, own)]
    if step.optimizer == "lamb":
        parts += decay
        if predicates.decays(step) or step.always_adapt:
            ratio = "optax.scale_by_trust_ratio()"
            adapts_some = not step.always_adapt and masked
            mask = "jax.tree.map(bool, amounts)" if step.groups else "decays(model)"
            parts.append(f"optax.masked({ratio}, {mask})" if adapts_some else ratio)
    elif not coupled:
        parts += decay
    if own in ("", "adam") and any(group.rate_factor != 1.0 for group in step.groups):
        parts.append("scale_rates(factors)")
    return parts or ["optax.identity()"]


def _transformation(step: Step, own: Own) -> list[str]:
    match own:
        case "adam":
            return ["scale_by_adam()"]
        case "adafactor":
            if step.groups:
                return ["scale_by_adafactor(factors, amounts)"]
            roles = step.no_decay and step.weight_decay
            return [f"scale_by_adafactor({'amounts' if roles else ''})"]
        case "momentum":
            return [f"scale_by_momentum({'factors' if step.groups else ''})"]
    if step.optimizer in ("adam", "adamw", "lamb"):
        return ["optax.scale_by_adam(*BETAS, EPS)"]
    if step.optimizer == "lion":
        return ["optax.scale_by_lion(*BETAS)"]
    if step.momentum:
        nesterov = ", nesterov=True" if step.nesterov else ""
        return [f"optax.trace(MOMENTUM{nesterov})"]
    return []


def _doc(plan: Plan, *, grouped: bool) -> str:
    step = plan.get(Step)
    kind = _TITLES[step.optimizer]
    if step.optimizer == "sgd" and step.momentum:
        kind = "SGD with Nesterov momentum" if step.nesterov else "SGD with momentum"
    if grouped:
        return f"{kind}. Rate and weight decay of each weight are those of `settings`."
    if not step.weight_decay:
        return f"{kind}. No weight decay."
    where = "where `decays` says so" if step.no_decay else "on every weight"
    how = "inside" if step.optimizer == "lamb" else "decoupled"
    if JaxAdaptation.COUPLED_DECAY in plan.adapted:
        how = "coupled"
    return f"{kind}. {_DECAYS[how]} weight decay {where}."


def _constants(step: Step) -> tuple[str, ...]:
    named: dict[str, object] = {}
    match step.optimizer:
        case "sgd" if step.momentum:
            named = {"MOMENTUM": step.momentum}
        case "lion":
            named = {"BETAS": step.betas}
        case "adam" | "adamw" | "lamb":
            named = {"BETAS": step.betas, "EPS": step.eps}
        case "adafactor":
            named = {
                "EPS": step.factored_eps,
                "BETA2_DECAY": step.beta2_decay,
                "THRESHOLD": step.clip_threshold,
            }
    if step.weight_decay:
        named["WEIGHT_DECAY"] = step.weight_decay
    return tuple(f"{name} = {py_literal(value)}" for name, value in named.items())


def _groups(step: Step) -> tuple[str, ...]:
    if not step.groups:
        return ()
    groups = tuple((g.parameters, g.rate_factor, g.weight_decay) for g in step.groups)
    return assignment("GROUPS", groups)
