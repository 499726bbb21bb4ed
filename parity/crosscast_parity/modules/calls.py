"""Calls of modules as a process has recorded them, with the canonical tensors that they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crosscast.weights.document import WeightsMap
from crosscast_parity.modules.kinds import group_of
from crosscast_parity.weights.model import Model
from crosscast_parity.weights.workers import Recorded

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a module.

    `number`: place in the order in which calls begin, `end`: in which they end. `count`: calls of
    the module before. `parent`: number of the call around it. `tensors`: canonical tensors of it
    and of what it calls.
    """

    number: int
    end: int
    path: str
    count: int
    parent: int | None
    kind: str
    base: str
    settings: Mapping[str, Any]
    inputs: Arrays
    outputs: Arrays
    gradients: tuple[np.ndarray | None, ...]
    tensors: frozenset[str]
    own: frozenset[str]
    """Of itself alone."""
    leaf: bool
    """Whether it calls no other module."""

    @property
    def group(self) -> str:
        """What kind of module it is, in a word that is the same for all frameworks."""
        return group_of(self.base, self.kind)

    @property
    def text(self) -> str:
        """Its name for messages."""
        again = f" (call {self.count + 1})" if self.count else ""
        return f"{self.path or 'the model'}{again}"


def calls_of(recorded: Recorded, known: WeightsMap, model: Model) -> list[Call]:
    """Return the calls whose arrays were recorded, in the order in which they end."""
    own = _own_tensors(known, model)
    raw = {call["number"]: call for call in recorded.calls if call["end"] is not None}
    by_number = {}
    parents = {call["parent"] for call in raw.values()}
    for number, call in raw.items():
        outputs = _numbered(recorded.arrays, f"out/{number}/")
        if not outputs:
            continue
        back = [recorded.arrays.get(f"back/{number}/{n}") for n in range(len(outputs))]
        by_number[number] = Call(
            **{name: call[name] for name in ("number", "end", "path", "count", "parent")},
            kind=call["kind"],
            base=call["base"],
            settings=call["settings"],
            inputs=_numbered(recorded.arrays, f"in/{number}/"),
            outputs=outputs,
            gradients=tuple(back),
            tensors=_tensors_below(call["path"], own),
            own=own.get(call["path"], frozenset()),
            leaf=number not in parents,
        )
    for number in sorted(raw, reverse=True):  # inner calls begin after those around them
        parent = raw[number]["parent"]
        if number in by_number and parent in by_number:
            both = by_number[parent].tensors | by_number[number].tensors
            by_number[parent] = replace(by_number[parent], tensors=both)
    return sorted(by_number.values(), key=lambda call: call.end)


def _own_tensors(known: WeightsMap, model: Model) -> dict[str, frozenset[str]]:
    """Return by path of a layer the canonical tensors that it holds."""
    layers = {part.tensor: part.layer for part in model.parts}
    by_path: dict[str, set[str]] = {}
    for tensor, held in known.of(model.framework).items():
        if tensor in layers:
            by_path.setdefault(layers[tensor], set()).update(entry.name for entry, _ in held)
    return {path: frozenset(names) for path, names in by_path.items()}


def _tensors_below(path: str, own: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the tensors of a layer and of those inside, which it may use without calling them."""
    within = [
        names
        for other, names in own.items()
        if other == path or not path or other.startswith((f"{path}.", f"{path}/"))
    ]
    return frozenset(name for names in within for name in names)


def _numbered(arrays: Mapping[str, np.ndarray], start: str) -> Arrays:
    numbered: list[np.ndarray] = []
    while f"{start}{len(numbered)}" in arrays:
        numbered.append(arrays[f"{start}{len(numbered)}"])
    return tuple(numbered)


def ancestors(call: Call, calls: Sequence[Call]) -> list[Call]:
    """Return the calls around one, the innermost first."""
    by_number = {c.number: c for c in calls}
    around = []
    parent = call.parent
    while parent is not None and parent in by_number:
        around.append(by_number[parent])
        parent = by_number[parent].parent
    return around
