"""Changes that another value of a field requires in other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from crosscast.recipe.document import (
    Adafactor,
    Adam,
    AdamW,
    DynamicLossScaling,
    GlobalNormClipping,
    Lamb,
    Lion,
    NoClipping,
    NoLossScaling,
    OpTypes,
    PerParamNormClipping,
    Precision,
    Section,
    Sgd,
    StaticLossScaling,
    ValueClipping,
)
from crosscast.variations.changes import Data

KINDS: dict[str, dict[str, type[Section]]] = {
    path: {get_args(kind.model_fields[path.split(".")[1]].annotation)[0]: kind for kind in kinds}
    for path, kinds in {
        "optimizer.name": (Sgd, Adam, AdamW, Lamb, Lion, Adafactor),
        "clipping.kind": (NoClipping, GlobalNormClipping, PerParamNormClipping, ValueClipping),
        "loss_scaling.mode": (DynamicLossScaling, StaticLossScaling, NoLossScaling),
    }.items()
}
SECTIONS = tuple(KINDS)
"""Fields that determine which other fields their section has."""

NEVER_ALONE = (*SECTIONS, "schedule.power")
"""Fields whose change has no meaning without the required changes."""

USUAL: Data = {
    "max_norm": 1.0,
    "max_value": 1.0,
    "momentum": 0.0,
    "scale": 65536.0,
    "init_scale": 65536.0,
}
"""Values of fields without a default that the old section lacks."""

LIKE = {
    "max_norm": "max_value",
    "max_value": "max_norm",
    "scale": "init_scale",
    "init_scale": "scale",
}
"""Equivalent fields of other sections."""


def follow_up(data: Data, path: str, value: Any) -> Data:
    """Return the changes that a new value of a field requires, by path."""
    if path in SECTIONS:
        section = path.split(".")[0]
        return {section: _section(data[section], path, value)}
    return _FOLLOW.get(path, _no_changes)(data, value)


def _section(old: Data, path: str, value: str) -> Data:
    """Return a section of another kind that keeps the common fields."""
    tag, kind = path.split(".")[1], KINDS[path][value]
    new: Data = {tag: value}
    for name, field in kind.model_fields.items():
        if name == tag:
            continue
        if name in old and _fits(old[name], field.default):
            new[name] = old[name]
        elif LIKE.get(name) in old:
            new[name] = old[LIKE[name]]
        elif field.is_required():
            new[name] = USUAL[name]
    return new


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is valid for another optimizer: `eps` is one number or two."""
    return not isinstance(default, tuple | float) or isinstance(value, tuple) == isinstance(
        default, tuple
    )


def _no_changes(data: Data, value: Any) -> Data:
    return {}


def _steps(data: Data, value: Any) -> Data:
    micro = data["batch"]["micro_batch_size"]
    return {"batch.global_batch_size": micro * value * _processes(data)}


def _micro(data: Data, value: Any) -> Data:
    """Keep the rows of a window with another micro-batch size, if possible."""
    window, processes = data["batch"]["global_batch_size"], _processes(data)
    if value > 0 and window % (value * processes) == 0:
        return {"accumulation.steps": window // (value * processes)}
    return {"batch.global_batch_size": value * data["accumulation"]["steps"] * processes}


def _processes(data: Data) -> int:
    distributed = data["distributed"]
    return int(distributed["nodes"] * distributed["processes_per_node"])


def _mode(data: Data, value: Any) -> Data:
    if value == "none":
        return {
            "precision.compute_dtype": "float32",
            "precision.policy": Precision().policy,
            "precision.ops": OpTypes().model_dump(),
            "accumulation.dtype": "float32",
            "loss_scaling": {"mode": "none"},
        }
    also: Data = {"accumulation.dtype": "float32"} if value == "mixed" else {}
    if data["precision"]["compute_dtype"] == "float32":
        also["precision.compute_dtype"] = "bfloat16"
    return also


def _dtype(data: Data, value: Any) -> Data:
    if value == "float32":
        also = _mode(data, "none") | {"precision.mode": "none"}
        del also["precision.compute_dtype"]
        return also
    also = {}
    if data["precision"]["mode"] == "none":
        also["precision.mode"] = "mixed"
    if value == "bfloat16":
        also["loss_scaling"] = {"mode": "none"}
    return also


def _power(data: Data, value: Any) -> Data:
    """Rename a linear decay to polynomial, because linear has the power 1."""
    return {"schedule.name": "polynomial"} if data["schedule"]["name"] == "linear" else {}


_FOLLOW: dict[str, Callable[[Data, Any], Data]] = {
    "accumulation.steps": _steps,
    "batch.micro_batch_size": _micro,
    "precision.mode": _mode,
    "precision.compute_dtype": _dtype,
    "schedule.power": _power,
}
