"""How the emitted script makes its optimizer."""

from __future__ import annotations

from typing import Any

from crosscast.emit import py_literal
from crosscast.recipe import Adam, AdamW, Sgd

_EXEMPT_LAYERS = {"layer_norm": "nn.LayerNorm", "embedding": "nn.Embedding"}
_GROUPS = 'parameters=[{"params": p, "weight_decay": d} for d, p in groups.items()]'


def optimizer_view(optimizer: Sgd | Adam | AdamW) -> dict[str, Any]:
    """Return class, constants and arguments of the optimizer, and the names of its moments.

    `form` is how weight decay reaches some parameters only: `names` (AdamW asks a function about
    generated names), `groups`, or empty.
    """
    decoupled = isinstance(optimizer, AdamW)
    exempt = _exempt(optimizer)
    form = ("names" if decoupled else "groups") if exempt else ""
    view = _sgd(optimizer) if isinstance(optimizer, Sgd) else _adam(optimizer)
    arguments = ["learning_rate=LEARNING_RATE", *view["arguments"]]
    arguments.append(_GROUPS if form == "groups" else "parameters=model.parameters()")
    constants = view["constants"]
    if optimizer.weight_decay or decoupled:  # AdamW's own default is not 0
        constants = (*constants, f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}")
        if form != "groups":
            arguments.append("weight_decay=WEIGHT_DECAY")
    if form == "names":
        arguments.append("apply_decay_param_fun=verdicts.get")
    return view | {
        "form": form,
        "exempt": exempt,
        "constants": constants,
        "arguments": tuple(arguments),
        "doc": _doc(view["cls"], optimizer, bool(exempt)),
    }


def _sgd(optimizer: Sgd) -> dict[str, Any]:
    view: dict[str, Any] = {"cls": "SGD", "counts_steps": False, "slots": ""}
    if not optimizer.momentum:
        return view | {"constants": (), "arguments": ()}
    nesterov = ("use_nesterov=True",) if optimizer.nesterov else ()
    return view | {
        "cls": "Momentum",
        "constants": (f"MOMENTUM = {py_literal(optimizer.momentum)}",),
        "arguments": ("momentum=MOMENTUM", *nesterov),
        "slots": '{"momentum_buffer": "velocity_0"}',
    }


def _adam(optimizer: Adam | AdamW) -> dict[str, Any]:
    return {
        "cls": "AdamW" if isinstance(optimizer, AdamW) else "Adam",
        "constants": (
            f"BETAS = {py_literal(optimizer.betas)}",
            f"EPS = {py_literal(optimizer.eps)}",
        ),
        "arguments": ("beta1=BETAS[0]", "beta2=BETAS[1]", "epsilon=EPS"),
        "counts_steps": True,
        "slots": '{"exp_avg": "moment1_0", "exp_avg_sq": "moment2_0"}',
    }


def _exempt(optimizer: Sgd | Adam | AdamW) -> tuple[str, ...]:
    """Return the body of `decays`, empty where weight decay applies to everything or nothing."""
    if not optimizer.weight_decay or not optimizer.no_decay:
        return ()
    layers = [layer for role, layer in _EXEMPT_LAYERS.items() if role in optimizer.no_decay]
    if not layers:
        return ('return "bias" not in name.split("_")',)
    types = layers[0] if len(layers) == 1 else f"({', '.join(layers)})"
    last = f"return not isinstance(layer, {types})"
    if "bias" not in optimizer.no_decay:
        return (last,)
    return ('if "bias" in name.split("_"):  # bias_ih_l0 too', "    return False", last)


def _doc(cls: str, optimizer: Sgd | Adam | AdamW, exempt: bool) -> str:
    if not optimizer.weight_decay:
        return f"{cls}. No weight decay."
    kind = "Decoupled" if isinstance(optimizer, AdamW) else "Coupled (L2)"
    where = "where `decays` says so" if exempt else "on every parameter"
    return f"{cls}. {kind} weight decay {where}."
