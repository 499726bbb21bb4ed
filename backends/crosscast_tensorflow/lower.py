"""Recipe to TensorFlow: the canonical Plan and the view its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast import plan as ops
from crosscast.canonical import canonical_plan
from crosscast.emit import py_literal
from crosscast.lowering import clip_constants, divisor, factory_import, print_ops, shared_view
from crosscast.recipe import Adam, AdamW, Recipe, Sgd
from crosscast.target import File, Form, Lowered
from crosscast_tensorflow.overrides import TensorflowOverrides
from crosscast_tensorflow.rows import spares_by_name

TITLE = "TensorFlow 2.16 or newer (Keras 3)"

# A bias of a layer normalization is both, as in the other frameworks.
_ROLE_NAMES = {
    "bias": ("bias", "beta"),
    "layer_norm": ("gamma", "beta"),
    "embedding": ("embeddings",),
}


def lower(recipe: Recipe, templates: Path, form: Form) -> Lowered:
    """Return plan and files of a recipe for TensorFlow."""
    overrides = TensorflowOverrides.model_validate(recipe.overrides.get("tensorflow", {}))
    plan = canonical_plan(recipe)
    view = shared_view(recipe, plan, TITLE, form)
    policy = _policy(recipe)
    view |= {
        "machine": view["dynamic"],
        "contextlib": False,
        "own_norm": False,
        "clip_constants": clip_constants(recipe, with_eps=True),
        "math": recipe.schedule.name == "cosine" or view["dynamic"],
        "policy": policy,
        "decorator": _decorator(overrides),
        "optimizer": _optimizer(recipe),
        "factory_import": "" if view["bert"] else factory_import(recipe, "tensorflow"),
        "inputs": "**inputs" if view["bert"] else "inputs",
        "output": f"runs/{recipe.name}-tensorflow",
        "reseed": "reseed(state)" if view["has_dropout"] else "",
        "flags": "",
    }
    if form == "step":
        advice = f'Call keras.config.set_dtype_policy("{policy}") before you build the model.'
        view["header"] = (*view["header"], advice)
    normalize = plan.find(ops.Normalize)
    assert normalize is not None  # every canonical plan has one
    view["divisor"] = divisor(normalize, distributed=False)
    if not normalize.renormalize:
        view["clip_constants"] = (*view["clip_constants"], f"FULL_WINDOW = {normalize.full}")
    scale = ("scale_tensor",) if view["scaled"] else ()
    view["micro_arguments"] = ", ".join(("state", "loss_fn", "batch", "divisor", *scale))
    view |= _code(plan, templates, view)
    return Lowered(plan=plan, files=_files(view, form))


def _code(plan: ops.Plan, templates: Path, view: Mapping[str, Any]) -> dict[str, str]:
    """Print the operations: recorded by the tape or not, compiled for the window or not."""

    def text(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "tensorflow/ops", part, lambda op: _values(op, view), by)

    taped = next(i for i, op in enumerate(plan.micro) if isinstance(op, ops.Backward))
    stepped = next(i for i, op in enumerate(plan.window) if isinstance(op, ops.Step)) + 1
    return {
        "tape_code": text(plan.micro[:taped], 8),
        "micro_code": text(plan.micro[taped:], 4),
        "graph_code": text(plan.window[:stepped], 4),
        "host_code": text(plan.window[stepped:], 4),
    }


def _policy(recipe: Recipe) -> str:
    if recipe.precision.mode == "mixed":
        return f"mixed_{recipe.precision.compute_dtype}"
    return "float32"


def _decorator(overrides: TensorflowOverrides) -> str:
    if overrides.jit_compile:
        return "@tf.function(reduce_retracing=True, jit_compile=True)"
    return "@tf.function(reduce_retracing=True)"


def _optimizer(recipe: Recipe) -> dict[str, Any]:
    optimizer = recipe.optimizer
    decoupled = optimizer.name == "adamw"
    coupled = not decoupled and optimizer.weight_decay > 0
    roles = _role_names(optimizer.no_decay) if optimizer.weight_decay else ()
    constants, own = _sgd(optimizer) if isinstance(optimizer, Sgd) else _adam(optimizer)
    if decoupled or coupled:
        constants = (*constants, f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}")
    return {
        "constants": constants,
        "doc": _optimizer_doc(own["kind"], optimizer.name, optimizer.weight_decay, roles),
        "call": f"{own['cls']}(LEARNING_RATE{', weight_decay=WEIGHT_DECAY' if decoupled else ''})",
        "roles": roles,
        "by_name": spares_by_name(recipe),
        "coupled": coupled,
        "excludes": decoupled and bool(roles),
        **own,
    }


def _sgd(optimizer: Sgd) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the constants of SGD and what its part of the template prints."""
    if not optimizer.momentum:
        return (), {"form": "sgd", "cls": "keras.optimizers.SGD", "kind": "SGD", "slots": ()}
    return (f"MOMENTUM = {py_literal(optimizer.momentum)}",), {
        "form": "momentum",
        "cls": "Momentum",
        "kind": "SGD with Nesterov momentum" if optimizer.nesterov else "SGD with momentum",
        "direction": "gradient + MOMENTUM * buffer" if optimizer.nesterov else "buffer",
        "slots": ("momentum_buffer",),
    }


def _adam(optimizer: Adam | AdamW) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the constants of Adam or AdamW and what their part of the template prints."""
    cls = "AdamW" if optimizer.name == "adamw" else "Adam"
    constants = (f"BETAS = {py_literal(optimizer.betas)}", f"EPS = {py_literal(optimizer.eps)}")
    slots = ("exp_avg", "exp_avg_sq")
    return constants, {"form": "adam", "cls": cls, "kind": cls, "slots": slots}


def _optimizer_doc(kind: str, name: str, decay: float, roles: tuple[str, ...]) -> str:
    if not decay:
        return f"{kind}. No weight decay."
    where = "where `decays` says so" if roles else "on every weight"
    return f"{kind}. {'Decoupled' if name == 'adamw' else 'Coupled (L2)'} weight decay {where}."


def _role_names(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Return what Keras calls the variables of these roles, each once."""
    return tuple(dict.fromkeys(name for role in roles for name in _ROLE_NAMES[role]))


def _values(op: ops.Op, view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of one operation prints."""
    scaled = view["scaled"]
    match op:
        case ops.Autocast():
            return {"dtype": op.compute_dtype}
        case ops.Accumulate():
            return {"several": view["accumulation_steps"] > 1}
        case ops.Backward():
            return {"loss": "scaled_loss" if scaled else "loss"}
        case ops.Clip():
            denominator = "(grad_norm + CLIP_EPS)" if op.eps else "grad_norm"
            return {"mode": op.mode, "denominator": denominator}
        case ops.Step():
            return {"scaled": scaled, "coupled": view["optimizer"]["coupled"]}
        case ops.Schedule():
            return {"scaled": scaled}
        case ops.UpdateScale():
            return {"dynamic": op.mode == "dynamic"}
        case _:
            return {}


def _files(view: dict[str, Any], form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        return (File(path="step.py", template="tensorflow/step.py.j2", view=wrapped),)
    names = ["train.py", "launch.sh", "requirements.txt"]
    if view["bert"]:
        names.insert(1, "model.py")
    return tuple(
        File(path=n, template=f"tensorflow/{n}.j2", view=wrapped, executable=n == "launch.sh")
        for n in names
    )
