"""What the optimizer's templates print: a stock class of Keras where it means the same, or one."""

from __future__ import annotations

from typing import Any

from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, Role, Step
from crosscast_tensorflow.adaptations import TensorflowAdaptation
from crosscast_tensorflow.stock import stock_call

# A bias of a layer normalization is both, as in the other frameworks.
_ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "bias": ("bias", "beta"),
    "layer_norm": ("gamma", "beta"),
    "embedding": ("embeddings",),
}
_KERAS_TYPE = "keras.optimizers.Optimizer"
_TYPES = {"adam": "Adam", "adamw": "AdamW", "lamb": "LAMB", "lion": "Lion", "sgd": "SGD"}


def optimizer_view(plan: Plan) -> dict[str, Any]:
    """Return everything about the optimizer that the templates print."""
    step, has = plan.get(Step), plan.adapted.__contains__
    call = stock_call(step) if has(TensorflowAdaptation.STOCK_OPTIMIZER) else ""
    decays, grouped = bool(step.weight_decay), has(TensorflowAdaptation.GROUPS)
    by_role = (decays or grouped) and bool(step.no_decay)
    kind = _kind(step)
    return {
        "call": call,
        "own": not call,
        "type": _KERAS_TYPE if call else _type(step),
        "form": _form(step),
        "doc": _doc(plan, kind),
        "title": f"{kind}{_title(step)}",
        "why": tuple(why for name, why in _WHY.items() if has(name)),
        "constants": _constants(step),
        "slots": slot_names(plan),
        "decay": _decay_form(plan) if predicates.decays(step) else "",
        "roles": role_names(step.no_decay) if by_role and decays else (),
        "by_name": has(TensorflowAdaptation.SPARES_BY_NAME),
        "grouped": grouped,
        "base_decay": "WEIGHT_DECAY" if decays else "0.0",
        "full": has(TensorflowAdaptation.MASTER_WEIGHTS),
        "corrected": not plan.adapted & _UNCORRECTED,
        "before": step.eps_placement == "before_correction",
        "nesterov": step.nesterov,
        "rate_in_momentum": step.rate_in_momentum,
        "always_adapt": step.always_adapt,
        "rate": "rate" if grouped else "self.learning_rate",
        "loop": _loop(step, grouped),
    }


def role_names(roles: tuple[Role, ...]) -> tuple[str, ...]:
    """Return what Keras calls the variables of these roles, each once."""
    return tuple(dict.fromkeys(name for role in roles for name in _ROLE_NAMES[role]))


def _form(step: Step) -> str:
    if step.optimizer == "sgd":
        return "momentum" if step.momentum else "sgd"
    return "adam" if predicates.is_adam(step) else step.optimizer


def _type(step: Step) -> str:
    form = _form(step)
    return form.capitalize() if form in ("momentum", "adafactor") else _TYPES[step.optimizer]


def _kind(step: Step) -> str:
    if step.optimizer == "sgd" and step.momentum:
        return "SGD with Nesterov momentum" if step.nesterov else "SGD with momentum"
    return "Adafactor" if step.optimizer == "adafactor" else _TYPES[step.optimizer]


def _title(step: Step) -> str:
    """Return what follows the kind in the docstring of the script's own class."""
    if step.optimizer == "sgd":
        if not step.momentum:
            return "."
        inside = step.rate_in_momentum
        return "; the learning rate is part of it." if inside else "; the rate stays out of it."
    if predicates.is_adam(step) and not step.bias_correction:
        return " without bias correction."
    if predicates.is_adam(step) and step.eps_placement == "before_correction":
        return " with epsilon before the bias correction."
    return " in its usual form."


_UNCORRECTED = {TensorflowAdaptation.UNCORRECTED, TensorflowAdaptation.UNCORRECTED_LAMB}
_WHY = {
    TensorflowAdaptation.MOMENTUM_OUTSIDE: "The momentum of keras.optimizers.SGD holds the rates "
    "of past updates (CC324).",
    TensorflowAdaptation.UNCORRECTED: "The class of that name in Keras always corrects (CC375).",
    TensorflowAdaptation.EPSILON_AFTER: "The class of that name in Keras adds epsilon before the "
    "bias correction (CC322).",
    TensorflowAdaptation.WIDE_CORRECTIONS: "The class of that name in Keras rounds its corrections "
    "to float32 (CC332).",
    TensorflowAdaptation.ADAPTED_DECAY: "The class of that name in Keras decays beside the adapted "
    "step (CC374).",
    TensorflowAdaptation.EPSILON_FLOOR: "The class of that name in Keras adds epsilon to every "
    "square (CC376).",
}
"""Why the script does not use the class of Keras, where the title does not say it."""


def _doc(plan: Plan, kind: str) -> str:
    step = plan.get(Step)
    if TensorflowAdaptation.GROUPS in plan.adapted:
        return f"{kind}. Rate and weight decay of each weight are those of `settings`."
    if not step.weight_decay:
        return f"{kind}. No weight decay."
    where = "where `decays` says so" if step.no_decay else "on every weight"
    how = {"coupled": "Coupled (L2)", "decoupled": "Decoupled", "inside": "Adapted"}
    return f"{kind}. {how[_decay_form(plan)]} weight decay {where}."


def _decay_form(plan: Plan) -> str:
    if TensorflowAdaptation.ADAPTED_DECAY in plan.adapted:
        return "inside"
    return "coupled" if TensorflowAdaptation.COUPLED_DECAY in plan.adapted else "decoupled"


def _constants(step: Step) -> tuple[str, ...]:
    named: dict[str, Any] = {}
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


# What the loop over the weights names, beside weight and gradient, and where it comes from.
_MOMENTS = {
    "momentum": ("buffer", "self.momentum_buffer"),
    "adam": ("(mean, square)", "moments"),
    "lamb": ("(mean, square)", "moments"),
    "lion": ("mean", "self.exp_avg"),
    "adafactor": ("(row, column, variance)", "moments"),
}


def _loop(step: Step, grouped: bool) -> dict[str, Any]:
    """Return the targets and the iterables of the loop over the weights."""
    moments = _MOMENTS.get(_form(step))
    targets = ["weight", "gradient", *([moments[0]] if moments else [])]
    sources = ["self.variables", "gradients", *([moments[1]] if moments else [])]
    if grouped:
        targets.append("(factor, decay)")
        sources.append("self.settings")
    head = f"        for {', '.join(targets)} in zip("
    line = f"{head}{', '.join(sources)}):"
    return {"head": head, "sources": ", ".join(sources), "fits": len(line) <= 88}
