"""Checks the parts of a file of torch.save and converts them to parts of a state."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from crosscast.messages.diagnostics import Severity, failure
from crosscast.recipe.document import BertModel, DynamicLossScaling, Recipe
from crosscast.state.problems import listed
from crosscast.state.reading import (
    Arrays,
    Reading,
    begin_window_again,
    number,
    parts_of,
    report_rounded,
    widened,
)
from crosscast.state.saved_file import SavedTensor
from crosscast_torch.states import keys


def split(tree: Any, reading: Reading) -> dict[str, Any]:
    """Return the parts by kind; other entries are reported.

    Raises:
        DiagnosticError: CC960 for a file without weights or without an optimizer.
    """
    if not isinstance(tree, dict) or not all(isinstance(key, str) for key in tree):
        raise failure("CC960", f"{reading.path}: not a dictionary of state dictionaries")
    parts = parts_of(tree, keys.PARTS, reading)
    parts = {part: _single(value, part, reading) for part, value in parts.items()}
    inside = [name for name in keys.WITHIN_WINDOW if _counts(tree.get(name))]
    weights = parts["weights"]
    entries = [str(name) for name in weights] if isinstance(weights, dict) else []
    moving = [name for name in entries if name.rpartition(".")[2] in keys.STATISTICS]
    begin_window_again(inside, moving, reading)
    used = {name for names in keys.PARTS.values() for name in names} | {"windows", "updates"}
    for name in tree:
        if name not in used and name not in inside:
            reading.problem("CC965", [f"{name!r} is ignored"], Severity.WARNING)
            reading.account.add(name, 1, "left out", "not part of emitted scripts")
    return parts | {name: tree[name] for name in ("windows", "updates") if name in tree}


def _single(value: Any, part: str, reading: Reading) -> Any:
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        reading.problem("CC961", [f"{len(value)} states of {part}; a recipe has one"])
    return value[0] if value else {}


def _counts(value: Any) -> bool:
    """Whether the entry of a partial window has any contents."""
    if isinstance(value, SavedTensor):
        return bool(value.array.any())
    if isinstance(value, dict | list):
        return any(map(_counts, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and bool(value)


def arrays_of(value: Any, part: str, reading: Reading) -> Arrays:
    """Return the tensors of a state_dict by their names in the state, with floats as float32."""
    if not isinstance(value, dict):
        reading.problem("CC961", [f"{part} are not a dictionary"])
        return {}
    nested = value.get("module") or value.get("shadow")
    held = nested if isinstance(nested, dict) else value
    tensors = {str(k): v for k, v in held.items() if isinstance(v, SavedTensor)}
    tensors.pop("n_averaged", None)
    others = [name for name in map(str, held) if name not in tensors and name != "n_averaged"]
    reading.problem("CC961", (f"{part} {name!r} is not a tensor" for name in others))
    names = new_names(tensors, reading.recipe)
    twice = {new for new, number in Counter(names.values()).items() if number > 1}
    reading.problem("CC961", (f"{part}: several become {new!r}" for new in sorted(twice)))
    report_rounded(tensors, part, reading)
    reading.renamed |= names
    return {names[n]: widened(tensor) for n, tensor in tensors.items() if n in names}


def new_names(names: Iterable[str], recipe: Recipe) -> dict[str, str]:
    """Return old to new names: without prefixes of wrappers, in the current spelling for BERT."""
    shipped = isinstance(recipe.model, BertModel)
    named = {name: name for name in names}
    removed = True
    while removed and named:
        removed = False
        for prefix in keys.SHIPPED_PREFIXES if shipped else keys.PREFIXES:
            if all(name.startswith(prefix) and name != prefix for name in named.values()):
                named = {name: new.removeprefix(prefix) for name, new in named.items()}
                removed = True
    if not shipped:
        return named
    for old, new in keys.OLD_NAMES.items():
        named = {k: v.removesuffix(old) + new if v.endswith(old) else v for k, v in named.items()}
    return {k: v for k, v in named.items() if v.rpartition(".")[2] not in keys.CONSTANTS}


def scale_of(value: Any, reading: Reading) -> tuple[float, int] | None:
    """Return the loss scale and the number of clean steps; None for a disabled scaler."""
    if not isinstance(value, dict):
        reading.problem("CC961", ["the loss scaler's state is not a dictionary"])
        return None
    if not value:
        return None
    if "scale" in value:
        scale, good = value["scale"], value.get("_growth_tracker", 0)
        _compare_scaler(value, reading)
    elif set(value) == {"loss_scaler0"} and isinstance(value["loss_scaler0"], dict):
        scale = value["loss_scaler0"].get("loss_scale")  # apex
        good = value["loss_scaler0"].get("unskipped", 0)
    else:
        reading.problem("CC961", [f"unknown loss scaler with {listed(map(str, value))}"])
        return None
    scale, good = number(scale), number(good)
    sound = scale is not None and math.isfinite(scale) and 2.0**-149 <= scale < 2.0**128
    if not sound or good is None or good != int(good) or good < 0:
        reading.problem("CC961", [f"loss scale {scale} after {good} clean steps"])
        return None
    assert scale is not None
    return float(scale), int(good)


def _compare_scaler(value: Mapping[str, Any], reading: Reading) -> None:
    scaling = reading.recipe.loss_scaling
    if not isinstance(scaling, DynamicLossScaling):
        return
    wrong = [
        f"loss scaler: {name} is {value[name]}, in the recipe {getattr(scaling, name)}"
        for name in keys.SCALER_SETTINGS
        if name in value and number(value[name]) != getattr(scaling, name)
    ]
    if scaling.hysteresis > 1:
        wrong.append("GradScaler backs off at every overflow; the recipe has a larger hysteresis")
    reading.problem("CC966", wrong)
