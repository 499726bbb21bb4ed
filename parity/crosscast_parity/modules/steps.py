"""A step of a model in one framework: what went in, what came out, and what it holds.

All is as in PyTorch: channels first, canonical tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.comparison import Comparison, Place
from crosscast_parity.modules.layouts import unpadded
from crosscast_parity.weights.model import Part

Arrays = tuple[np.ndarray, ...]
MOST_SOURCES = 8
"""Results of modules before some code that are looked at, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A module, or the code between two of them (`group` is "" then).

    `x`: what it got; of code between modules, what the modules before it returned, the last one
    first. `tensors`: by role, in order of execution.
    """

    group: str
    x: Arrays
    y: np.ndarray
    tensors: Mapping[str, tuple[np.ndarray, ...]]
    settings: Mapping[str, Any]

    def setting(self, name: str, default: int) -> tuple[int, int]:
        """Return a setting of two sizes, which may be a single number."""
        value = self.settings.get(name, default)
        if isinstance(value, (list, tuple)):
            numbers = [v for v in value if isinstance(v, int)]
            return (numbers[0], numbers[-1]) if numbers else (default, default)
        return (value, value) if type(value) is int else (default, default)


@dataclass(frozen=True, slots=True)
class Held:
    """What canonical tensors are (`roles`), and their values."""

    roles: Mapping[str, Part]
    values: Mapping[str, np.ndarray]

    def by_role(self, names: frozenset[str]) -> dict[str, tuple[np.ndarray, ...]]:
        """Return tensors by role, in order of execution."""
        by_role: dict[str, list[np.ndarray]] = {}
        for name, part in self.roles.items():
            if name in names and name in self.values:
                by_role.setdefault(part.role, []).append(self.values[name])
        return {role: tuple(arrays) for role, arrays in by_role.items()}


def channels_first(array: np.ndarray, call: Call) -> np.ndarray:
    """Return an array with channels before sizes, if the module has them last."""
    last = call.settings.get("data_format") in ("channels_last", "NLC", "NHWC", "NDHWC")
    if call.group in ("batch norm", "group norm", "instance norm") and call.settings.get(
        "axis"
    ) in (-1, array.ndim - 1):
        last = True
    return np.moveaxis(array, -1, 1) if last and array.ndim > 2 else array


def module_step(first: Call, last: Call, held: Held) -> Step:
    """Return the step of a module, from the input of `first` to the result of `last`."""
    names = first.tensors | last.tensors
    return Step(
        group=last.group,
        x=tuple(channels_first(x, first) for x in first.inputs),
        y=channels_first(last.outputs[0], last),
        tensors=held.by_role(names),
        settings=last.settings,
    )


def steps_at(comparison: Comparison, place: Place, held: Held) -> tuple[Step, Step]:
    """Return the steps of both frameworks where their difference begins."""
    pair = place.at.pair
    if place.within is None:
        return (
            module_step(pair.first_of_a, pair.a, held),
            module_step(pair.first_of_b, pair.b, held),
        )
    behind = place.within is pair.a
    sources = [c for c in comparison.compared if c.same_outputs and c.pair.a.end < pair.a.end]
    sources.sort(key=lambda c: c.pair.a.end, reverse=True)
    return (
        _code_step(pair.first_of_a, [c.pair.a for c in sources], behind=behind),
        _code_step(pair.first_of_b, [c.pair.b for c in sources], behind=behind),
    )


def _code_step(at: Call, sources: Sequence[Call], *, behind: bool) -> Step:
    """Return the step of code before a call, or at the end of one, behind all that it calls."""
    before: list[np.ndarray] = []
    for source in sources:
        x = source.outputs[0]
        if len(before) < MOST_SOURCES and not any(np.array_equal(x, known) for known in before):
            before.append(x)
    y = at.outputs[0] if behind or not at.inputs else at.inputs[0]
    if before and y.shape != before[0].shape and unpadded(y).shape == before[0].shape:
        y = unpadded(y)  # what a layer between has padded
    return Step(group="", x=tuple(before), y=y, tensors={}, settings=at.settings)
