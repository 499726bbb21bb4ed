"""Every number of a recipe, in recipes in which it matters, with the two ends of its values.

Fields are found in the types of the sections, and ends by asking the rules of recipes, so that a
new field or another limit is tried without being listed here.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe, Section
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import document_of
from crosscast.recipe.yaml_text import recipe_text
from frameworks.emitted_script import FLOAT16, TINY

Data = dict[str, Any]
Path = tuple[str | int, ...]
Kind = tuple[str, str, str]
KEY = "x"
"""Of a mapping with names that a recipe chooses."""
CHOOSING = ("kind", "mode", "name", "source")
"""Names of fields that say which kind of section it is."""

_RATE = {"learning_rate": 0.01, "weight_decay": 0.01}
_FILES = {"train": "train.npz", "eval": "eval.npz"}
_ROWS = {"train": "rows:train", "eval": "rows:eval"}
_OWN_MODEL = dict.fromkeys(("torch", "tensorflow", "paddle"), "my_model:build")
BASES: dict[str, Data] = {
    "model.bert": TINY["model"],
    "data.npz": _FILES,
    "data.npy": _FILES,
    "data.parquet": {**_FILES, "pad_values": {KEY: 1.0}},
    "data.datasets": {**_FILES, "pad_values": {KEY: 1.0}},
    "data.images": {**_FILES, "size": [8, 8]},
    "data.custom": {**_ROWS, "pad_values": {KEY: 1.0}},
    "loss_scaling.static": {"scale": 1024.0},
    "loss_scaling.dynamic": {"init_scale": 1024.0, "growth_interval": 2},
    "clipping.global_norm": {"max_norm": 1.0},
    "clipping.per_param_norm": {"max_norm": 1.0},
    "clipping.value": {"max_value": 1.0},
    "optimizer.sgd": {**_RATE, "momentum": 0.9},
    "optimizer.adam": {**_RATE, "betas": [0.9, 0.999]},
    "optimizer.adamw": {**_RATE, "betas": [0.9, 0.999]},
    "optimizer.lamb": {**_RATE, "betas": [0.9, 0.999]},
    "optimizer.lion": {**_RATE, "betas": [0.9, 0.99]},
    "optimizer.adafactor": {**_RATE, "eps": [2.0**-23, 1e-3]},
    "data.synthetic": {"sequence_length": 16},
}
"""What a kind of section needs to be valid, and for all of its fields to have an effect."""
ALWAYS: Data = {
    **TINY,
    "batch": {"micro_batch_size": 2, "global_batch_size": 4},
    "optimizer": {"name": "adamw", "learning_rate": 0.01},
    "schedule": {"name": "linear", "warmup_steps": 2, "total_steps": 20},
}
_PROCESSES = {"strategy": "data_parallel", "processes_per_node": 2}
NEEDED: dict[str, Data] = {
    "loss_scaling": {"precision": FLOAT16},
    "loss.class_weights": {"loss": {"class_weights": [1.0, 1.0, 1.0]}},
    "data": {"model": {"kind": "custom", "factory": _OWN_MODEL}},
    "data.synthetic": {"model": TINY["model"]},
    "schedule.warmup_ratio": {"schedule": {"name": "linear", "total_steps": 20}},
    "batch.micro_batch_size": {"batch": {"micro_batch_size": 1}},
    "batch.global_batch_size": {"batch": {"global_batch_size": 1}, "accumulation": {"steps": 1}},
    "accumulation": {"batch": {"micro_batch_size": 1}},
    "distributed": {
        "batch": {"micro_batch_size": 2},
        "distributed": {"strategy": "data_parallel"},
    },
    "launch": {"launch": {"scheduler": "slurm", "max_requeues": 1, "time_limit_minutes": 30}},
    "launch.max_restarts": {
        "batch": {"micro_batch_size": 2},
        "distributed": _PROCESSES,
        "launch": {"rendezvous": "elastic"},
    },
}
"""Sections by path or kind of a field: with others it has no effect, or only one value."""
INSIDE = (0.0, -1.0, 0.001, 0.5, 1.0, 2.0, 100.0, 1024.0)
"""Tried where a field has no value of its own in the recipe."""


@dataclass(frozen=True)
class NumericField:
    """A number of a recipe.

    `kind`: section, name and value of the field that chooses among kinds of it, or None.
    """

    path: Path
    kind: Kind | None = None
    integer: bool = False
    bounds: tuple[tuple[int, float], ...] = ()
    """What its type says of its ends, -1 for the lower one; rules may leave less."""

    def __str__(self) -> str:
        kind = f"[{self.kind[2]}]" if self.kind else ""
        return ".".join(map(str, self.path)) + kind

    @property
    def largest(self) -> float:
        """The largest value of its type that YAML is read as."""
        return 2**63 if self.integer else sys.float_info.max

    def convert(self, value: float) -> float:
        """Return a number in the type of the field."""
        return int(value) if self.integer else float(value)

    def rank(self, value: float) -> int:
        """Return the place of a value in the order of all values of the type, 0 for zero."""
        if self.integer:
            return int(value)
        size: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
        return -size if value < 0 else size

    def value(self, rank: int) -> float:
        """Return the value at a place in the order."""
        if self.integer:
            return rank
        size: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
        return -size if rank < 0 else size


def numeric_fields(section: type[Section]) -> list[NumericField]:
    """Return every number that a section holds, in itself and in those below."""
    return list(dict.fromkeys(_of_section(section, (), None)))


def _of_section(section: type[Section], path: Path, kind: Kind | None) -> Iterator[NumericField]:
    hints = get_type_hints(section, include_extras=True)
    for name in CHOOSING:
        hint = hints.get(name)
        if path and get_origin(hint) is Literal and len(get_args(hint)) == 1:
            kind = kind or (str(path[-1]), name, get_args(hint)[0])
    for name in section.model_fields:
        yield from _of_type(hints[name], (*path, name), kind)


def _of_type(hint: Any, path: Path, kind: Kind | None) -> Iterator[NumericField]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        told = [m for a in arguments[1:] if isinstance(a, FieldInfo) for m in a.metadata]
        ends = (("ge", -1), ("le", 1))
        bounds = [(sign, getattr(m, n)) for m in told for n, sign in ends if hasattr(m, n)]
        for field in _of_type(arguments[0], path, kind):
            yield replace(field, bounds=(*bounds, *field.bounds))
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _of_type(argument, path, kind)
    elif origin is tuple:
        each = arguments[:1] if arguments[-1] is Ellipsis else arguments
        for index, argument in enumerate(each):
            yield from _of_type(argument, (*path, index), kind)
    elif origin is dict:
        yield from _of_type(arguments[1], (*path, KEY), kind)
    elif isinstance(hint, type) and issubclass(hint, Section):
        yield from _of_section(hint, path, kind)
    elif hint in (int, float):
        yield NumericField(path, kind, integer=hint is int)


@dataclass(frozen=True)
class Limit:
    """A recipe with a number at one end of its values."""

    field: NumericField
    form: str
    """The choice in the same section that is not the default, such as `nesterov=True`."""
    value: float
    recipe: Recipe

    def __str__(self) -> str:
        form = f" {self.form}" if self.form else ""
        return f"{self.field}={self.value!r}{form}"


def limits(field: NumericField) -> list[Limit]:
    """Return the recipes with both ends of a field, in every form of its section."""
    found: dict[str, Limit] = {}
    for form, data in _forms(field):
        low, high = _ends(field, data)
        # With one value only, the field has no effect in this form.
        for value in (low, high) if low != high else ():
            recipe = build(_with(data, field.path, value))
            assert recipe is not None
            found.setdefault(recipe_text(recipe), Limit(field, form, value, recipe))
    return list(found.values())


def build(data: Data) -> Recipe | None:
    """Return the recipe of plain data, or None if it is not valid."""
    try:
        return build_recipe(document_of(data, "limits"))
    except DiagnosticError:
        return None


def _forms(field: NumericField) -> Iterator[tuple[str, Data]]:
    """Yield valid recipes in which a field is: the plain one, and one for every other choice."""
    data, top = deepcopy(ALWAYS), str(field.path[0])
    if field.kind:
        _, name, value = field.kind
        data[top] = {name: value, **BASES.get(f"{top}.{value}", {})}
    kinds = [f"{top}.{field.kind[2]}"] if field.kind else []
    for key in (top, *kinds, ".".join(map(str, field.path[:2]))):
        data |= deepcopy(NEEDED.get(key, {}))
    if "groups" in field.path:
        data[top]["groups"] = [{"parameters": ["*"], "weight_decay": 0.1, "rate_factor": 0.5}]
    plain = build(data)
    assert plain is not None, f"{field}: add to BASES what this kind of section needs"
    yield "", data
    section = getattr(plain, top)
    if not isinstance(section, Section):
        return
    for name, hint in get_type_hints(type(section), include_extras=True).items():
        values = (False, True) if hint is bool else get_args(hint)
        for value in values if hint is bool or get_origin(hint) is Literal else ():
            changed = {**data, top: {**data.get(top, {}), name: value}}
            if value != getattr(section, name) and build(changed) is not None:
                yield f"{name}={value}", changed


def _ends(field: NumericField, data: Data) -> tuple[float, float]:
    """Return the lowest and the highest value with which a recipe is valid."""

    def valid(value: float) -> bool:
        return build(_with(data, field.path, value)) is not None

    inside = [value for value in (_get(data, field), *INSIDE) if value is not None]
    middle = next(value for value in map(field.convert, inside) if valid(value))
    return _end(field, middle, -1, valid), _end(field, middle, 1, valid)


def _end(field: NumericField, middle: float, sign: int, valid: Callable[[float], bool]) -> float:
    """Return the last valid value between one and the largest of its type."""
    for of, bound in field.bounds:
        if of == sign and valid(field.convert(bound)):
            return field.convert(bound)
    good, bad = field.rank(middle), sign * field.rank(field.largest)
    while abs(bad - good) > 1:
        between = (good + bad) // 2
        good, bad = (between, bad) if valid(field.value(between)) else (good, between)
    return field.value(good)


def _get(data: Any, field: NumericField) -> float | None:
    """Return the number that plain data has in a field, or None."""
    for key in field.path:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list | tuple) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data if isinstance(data, int | float) else None


def _with(data: Any, path: Path, value: float) -> Any:
    """Return plain data with a number in the place of another."""
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        held = list(data or ())
        held[key : key + 1] = [_with(held[key] if key < len(held) else None, tuple(rest), value)]
        return held
    section: Data = data or {}
    return {**section, key: _with(section.get(key), tuple(rest), value)}
