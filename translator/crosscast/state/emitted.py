"""Read the checkpoint of an emitted script and report all problems together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.emit.lowering import MEAN_SQUARES
from crosscast.messages.diagnostics import Collector, Diagnostic, failure
from crosscast.state.container import Container
from crosscast.state.problems import DamagedError, leads_away, listed, several, strict_json
from crosscast.state.slots import FAMILIES, slot_shape
from crosscast.state.training_state import Arrays, Scale, TrainingState

_COUNTS = ("windows", "updates")
_SCALE_COUNTS = ("stuck", "good", "bad")
_DIGEST = re.compile(r"[0-9a-f]{16}")
_PARTS = ("model/", "optimizer/", "ema/")
_MOST = 2**31
"""Scripts count below this."""


def read_emitted(file: Container) -> TrainingState:
    """Return the state in a checkpoint.

    Raises:
        DiagnosticError: CC961, one per problem.
    """
    collect = Collector()
    recipe, counters = _metadata(file, collect)
    arrays = _arrays(file, collect)
    weights, averages = arrays["model/"], arrays["ema/"]
    moments = _moments(file, arrays["optimizer/"], collect)
    windows, updates, scale = _checked_counters(file, counters, collect)
    rows = _checked_rows(file, counters, collect)
    stored = sum(map(len, moments.values()))
    saved = counters.get("moments", stored)
    if type(saved) is not int or saved != stored:
        collect.add(_damaged(file, f"it has {stored} moments, its counters say {str(saved)[:40]}"))
    state = TrainingState(recipe, weights, moments, averages, windows, updates, scale, rows)
    collect.diagnostics += several("CC961", (f"{file.path}: {m}" for m in check(state)))
    collect.raise_errors()
    return state


def check(state: TrainingState) -> Iterator[str]:
    """Yield the inconsistencies of a state from any source."""
    if not state.weights:
        yield "it contains no weights"
    yield from _shapes(state)
    slots = frozenset(state.moments)
    if slots and slots not in FAMILIES:
        yield f"moments {listed(slots)} belong to no optimizer"
    yield from _complete(state)
    for name, array in state.tensors():
        yield from _values(name, array)


def _metadata(file: Container, collect: Collector) -> tuple[str, dict[str, Any]]:
    """Return the recipe's fingerprint and the counters; other entries are reported."""
    entries: dict[str, Any] = {}
    if not {"recipe", "counters"} & set(file.metadata):
        hint = "to load only weights in a script, use its option --weights"
        raise failure("CC960", f"{file.path}: contains no recipe and no counters", hint)
    for key in ("recipe", "counters"):
        if key not in file.metadata:
            message = f"{file.path}: has no {key}"
            collect.add(Diagnostic(code="CC960", message=message))
            continue
        try:
            entries[key] = strict_json(file.metadata[key])
        except DamagedError as error:
            collect.add(_damaged(file, f"its {key} are not JSON: {error}"))
    unknown = set(file.metadata) - {"recipe", "counters", "format"}
    if unknown:
        collect.add(_damaged(file, f"unknown metadata: {listed(unknown)}"))
    recipe, counters = entries.get("recipe", ""), entries.get("counters", {})
    if "recipe" in entries and not (isinstance(recipe, str) and _DIGEST.fullmatch(recipe)):
        collect.add(_damaged(file, "its recipe is not a fingerprint of 16 digits"))
    if not isinstance(counters, dict):
        collect.add(_damaged(file, "its counters are not a JSON object"))
        counters = {}
    return str(recipe), counters


def _arrays(file: Container, collect: Collector) -> dict[str, dict[str, Any]]:
    """Return the arrays by part; unknown tensors are reported."""
    by_part: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    unknown = []
    for name in file.tensors:
        part = next((part for part in _PARTS if name.startswith(part)), "")
        own = name[len(part) :]
        if not part or leads_away(own):
            unknown.append(f"{file.path}: {name!r} is an unknown tensor")
        else:
            by_part[part][own] = file.array(name)
    collect.diagnostics += several("CC961", unknown)
    return by_part


def _moments(file: Container, arrays: Arrays, collect: Collector) -> dict[str, dict[str, Any]]:
    moments: dict[str, dict[str, Any]] = {}
    unnamed = []
    for key, array in arrays.items():
        slot, slash, name = key.partition("/")
        if slash:
            moments.setdefault(slot, {})[name] = array
        else:
            unnamed.append(f"{file.path}: moment {key!r} names no weight")
    collect.diagnostics += several("CC961", unnamed)
    return moments


def _checked_counters(
    file: Container, counters: Mapping[str, Any], collect: Collector
) -> tuple[int, int, Scale | None]:
    """Return windows, updates and the loss scale; 0 or None for invalid values."""
    scaled = bool(set(counters) & {"scale", *_SCALE_COUNTS})
    wanted = (*_COUNTS, *(("scale", *_SCALE_COUNTS) if scaled else ()))
    problems = [f"counter {name!r} is missing" for name in wanted if name not in counters]
    known = {*wanted, "rows", "moments"}
    problems += [f"counter {n!r} is unknown" for n in counters if n not in known]
    counts = {name: counters.get(name, 0) for name in (*_COUNTS, *_SCALE_COUNTS)}
    for name, value in counts.items():
        if type(value) is not int or not 0 <= value < _MOST:
            problems.append(f"{name} is {str(value)[:40]}, not a count")
            counts[name] = 0
    windows, updates = counts["windows"], counts["updates"]
    if updates > windows or (not scaled and updates < windows and "windows" in counters):
        without = "" if updates > windows else " without a loss scale"
        problems.append(f"{updates} updates do not match {windows} windows{without}")
    elif not problems and (
        counts["good"] > updates
        or max(counts["bad"], counts["stuck"]) > windows - updates
        or (counts["good"] and counts["stuck"])
    ):
        where = f"of {updates} updates in {windows} windows"
        problems.append(f"the counters of the loss scale are not those {where}")
    scale = counters.get("scale", 1.0)
    number = isinstance(scale, int | float) and not isinstance(scale, bool)
    if not number or not math.isfinite(scale) or not 2.0**-149 <= scale < 2.0**128:
        problems.append(f"the loss scale is {str(scale)[:40]}, not a positive float32 number")
        scale = 1.0
    collect.diagnostics += several("CC961", (f"{file.path}: {problem}" for problem in problems))
    rest = (counts["good"], counts["bad"], counts["stuck"])
    return windows, updates, Scale(float(scale), *rest) if scaled else None


def _checked_rows(file: Container, counters: Mapping[str, Any], collect: Collector) -> int | None:
    """Return the number of training rows; None for files of older versions, which lack it."""
    rows = counters.get("rows")
    if "rows" not in counters or (type(rows) is int and 0 < rows < _MOST):
        return rows
    collect.add(_damaged(file, f"rows is {str(rows)[:40]}, not a number of training rows"))
    return None


def _shapes(state: TrainingState) -> Iterator[str]:
    for name, array in state.averages.items():
        if name not in state.weights:
            yield f"average of {name!r}, which is not a weight"
        elif array.shape != state.weights[name].shape:
            yield f"average of {name!r} has shape {array.shape}, not {state.weights[name].shape}"
    for slot, arrays in state.moments.items():
        for name, array in arrays.items():
            if name not in state.weights:
                yield f"{slot} of {name!r}, which is not a weight"
                continue
            wanted = slot_shape(slot, state.weights[name].shape)
            if array.shape != wanted:
                yield f"{slot} of {name!r} has shape {array.shape}, not {wanted}"


def _complete(state: TrainingState) -> Iterator[str]:
    """Yield the weights that have only some of the moments of their optimizer."""
    wanted = FAMILIES.get(frozenset(state.moments))
    if not wanted:
        return
    for name in {name for arrays in state.moments.values() for name in arrays}:
        if name not in state.weights:
            continue
        for slot in wanted(state.weights[name].ndim):
            if name not in state.moments.get(slot, {}):
                yield f"{slot} of {name!r} is missing"


def _values(name: str, array: Any) -> Iterator[str]:
    import numpy as np

    if array.dtype.kind != "f":
        if not name.startswith("model/"):
            yield f"{name!r} has dtype {array.dtype}, not a float dtype"
        return
    if not np.isfinite(array).all():
        yield f"{name!r} contains inf or nan"
    elif name.startswith(tuple(f"optimizer/{n}/" for n in MEAN_SQUARES)) and (array < 0).any():
        yield f"{name!r} is a mean of squares but contains negative numbers"


def _damaged(file: Container, message: str) -> Diagnostic:
    return Diagnostic(code="CC961", message=f"{file.path}: {message}")
