"""What the optimizer's templates print: a stock class of Keras where it means the same, or one."""

from __future__ import annotations

from typing import Any

from crosscast.emit.lowering import slot_names
from crosscast.emit.render import py_literal
from crosscast.recipe.document import Adafactor, Adam, AdamW, Lamb, Lion, Recipe, Role, Sgd
from crosscast_tensorflow.stock import stock_call, stock_slots

# A bias of a layer normalization is both, as in the other frameworks.
_ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "bias": ("bias", "beta"),
    "layer_norm": ("gamma", "beta"),
    "embedding": ("embeddings",),
}
_KERAS_TYPE = "keras.optimizers.Optimizer"
_TYPES = {"adam": "Adam", "adamw": "AdamW", "lamb": "LAMB", "lion": "Lion", "sgd": "SGD"}


def optimizer_view(recipe: Recipe, *, keras3: bool) -> dict[str, Any]:
    """Return everything about the optimizer that the templates print."""
    optimizer = recipe.optimizer
    call = stock_call(recipe, keras3=keras3)
    decays = bool(optimizer.weight_decay)
    grouped = bool(optimizer.groups)
    by_role = (decays or grouped) and bool(optimizer.no_decay)
    kind = _kind(recipe)
    return {
        "call": call,
        "own": not call,
        "type": _KERAS_TYPE if call else _type(recipe),
        "form": _form(recipe),
        "doc": _doc(recipe, kind),
        "title": f"{kind}{_title(recipe)}",
        "why": () if call else _why(recipe),
        "constants": _constants(recipe),
        "slots": slot_names(recipe),
        "stock_slots": stock_slots(recipe) if call else (),
        "decay": _decay_form(recipe) if decays or _group_decays(recipe) else "",
        "roles": role_names(optimizer.no_decay) if by_role and decays else (),
        "by_name": recipe.model.kind == "custom" and "layer_norm" in optimizer.no_decay,
        "grouped": grouped,
        "groups": tuple(_group(group) for group in optimizer.groups),
        "base_decay": "WEIGHT_DECAY" if decays else "0.0",
        "full": recipe.precision.mode == "full",
        "corrected": getattr(optimizer, "bias_correction", True),
        "before": getattr(optimizer, "eps_placement", "") == "before_correction",
        "nesterov": getattr(optimizer, "nesterov", False),
        "rate_in_momentum": getattr(optimizer, "rate_in_momentum", False),
        "always_adapt": getattr(optimizer, "always_adapt", True),
        "rate": "rate" if grouped else "self.learning_rate",
        "loop": _loop(recipe),
    }


def role_names(roles: tuple[Role, ...]) -> tuple[str, ...]:
    """Return what Keras calls the variables of these roles, each once."""
    return tuple(dict.fromkeys(name for role in roles for name in _ROLE_NAMES[role]))


def _form(recipe: Recipe) -> str:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd):
        return "momentum" if optimizer.momentum else "sgd"
    return "adam" if isinstance(optimizer, Adam | AdamW) else optimizer.name


def _type(recipe: Recipe) -> str:
    form = _form(recipe)
    return form.capitalize() if form in ("momentum", "adafactor") else _TYPES[recipe.optimizer.name]


def _kind(recipe: Recipe) -> str:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd) and optimizer.momentum:
        return "SGD with Nesterov momentum" if optimizer.nesterov else "SGD with momentum"
    return "Adafactor" if optimizer.name == "adafactor" else _TYPES[optimizer.name]


def _title(recipe: Recipe) -> str:
    """Return what follows the kind in the docstring of the script's own class."""
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd):
        if not optimizer.momentum:
            return "."
        inside = optimizer.rate_in_momentum
        return "; the learning rate is part of it." if inside else "; the rate stays out of it."
    if isinstance(optimizer, Adam | AdamW) and not optimizer.bias_correction:
        return " without bias correction."
    if isinstance(optimizer, Adam | AdamW) and optimizer.eps_placement == "before_correction":
        return " with epsilon before the bias correction."
    return " in its usual form."


def _why(recipe: Recipe) -> tuple[str, ...]:
    """Return why the script does not use the class of Keras; empty where the title says it."""
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd) and optimizer.momentum and not optimizer.rate_in_momentum:
        return ("The momentum of keras.optimizers.SGD holds the rates of past updates (CC324).",)
    if isinstance(optimizer, Adam | AdamW) and not optimizer.bias_correction:
        return ("The class of that name in Keras always corrects (CC375).",)
    if isinstance(optimizer, Adam | AdamW) and optimizer.eps_placement == "after_correction":
        return ("The class of that name in Keras adds epsilon before the bias correction (CC322).",)
    if isinstance(optimizer, Adam | AdamW):
        return ("The class of that name in Keras rounds its corrections to float32 (CC332).",)
    if isinstance(optimizer, Lamb):
        return ("The class of that name in Keras decays beside the adapted step (CC374).",)
    if isinstance(optimizer, Adafactor):
        return ("The class of that name in Keras adds epsilon to every square (CC376).",)
    return ()


def _doc(recipe: Recipe, kind: str) -> str:
    optimizer = recipe.optimizer
    if optimizer.groups:
        return f"{kind}. Rate and weight decay of each weight are those of `settings`."
    if not optimizer.weight_decay:
        return f"{kind}. No weight decay."
    where = "where `decays` says so" if optimizer.no_decay else "on every weight"
    how = {"coupled": "Coupled (L2)", "decoupled": "Decoupled", "inside": "Adapted"}
    return f"{kind}. {how[_decay_form(recipe)]} weight decay {where}."


def _decay_form(recipe: Recipe) -> str:
    if recipe.optimizer.name == "lamb":
        return "inside"
    return "coupled" if recipe.optimizer.name in ("sgd", "adam") else "decoupled"


def _group_decays(recipe: Recipe) -> bool:
    return any(group.weight_decay for group in recipe.optimizer.groups)


def _group(group: Any) -> str:
    """Return one group as a tuple: patterns, factor of the rate, decay."""
    return py_literal((group.parameters, group.rate_factor, group.weight_decay))


def _constants(recipe: Recipe) -> tuple[str, ...]:
    optimizer = recipe.optimizer
    named: dict[str, Any] = {}
    if isinstance(optimizer, Sgd) and optimizer.momentum:
        named["MOMENTUM"] = optimizer.momentum
    if isinstance(optimizer, Adam | AdamW | Lamb | Lion):
        named["BETAS"] = optimizer.betas
    if isinstance(optimizer, Adam | AdamW | Lamb | Adafactor):
        named["EPS"] = optimizer.eps
    if isinstance(optimizer, Adafactor):
        named |= {"BETA2_DECAY": optimizer.beta2_decay, "THRESHOLD": optimizer.clip_threshold}
    if optimizer.weight_decay:
        named["WEIGHT_DECAY"] = optimizer.weight_decay
    return tuple(f"{name} = {py_literal(value)}" for name, value in named.items())


# What the loop over the weights names, beside weight and gradient, and where it comes from.
_MOMENTS = {
    "momentum": ("buffer", "self.momentum_buffer"),
    "adam": ("(mean, square)", "moments"),
    "lamb": ("(mean, square)", "moments"),
    "lion": ("mean", "self.exp_avg"),
    "adafactor": ("(row, column, variance)", "moments"),
}


def _loop(recipe: Recipe) -> dict[str, Any]:
    """Return the targets and the iterables of the loop over the weights."""
    moments = _MOMENTS.get(_form(recipe))
    targets = ["weight", "gradient", *([moments[0]] if moments else [])]
    sources = ["self.variables", "gradients", *([moments[1]] if moments else [])]
    if recipe.optimizer.groups:
        targets.append("(factor, decay)")
        sources.append("self.settings")
    head = f"        for {', '.join(targets)} in zip("
    line = f"{head}{', '.join(sources)}):"
    return {"head": head, "sources": ", ".join(sources), "fits": len(line) <= 88}
