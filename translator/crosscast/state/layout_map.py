"""A layout map: names and axis orders of weights in another framework.

A JSON file for custom models:

    {"version": 1,
     "weights": {"fc.weight": {"to": "net/fc/kernel", "layout": "transpose"},
                 "*.bias": {"to": "="},
                 "norm.num_batches_tracked": {"to": null}}}

Keys are names, or patterns with `*` and `?`: an exact name precedes patterns, patterns apply in
their order. `"="` keeps the name, null drops the weight. `layout` is `same`, `transpose` (two
dimensions, swapped) or a list with the order of the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Collector, DiagnosticError, failure
from crosscast.messages.source import read_source
from crosscast.state.problems import DamagedError, leads_away, listed, several, strict_json
from crosscast.state.slots import FACTORED
from crosscast.state.training_state import Account, Arrays, TrainingState

if TYPE_CHECKING:
    import numpy as np

_MAX_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Place:
    """The target of a weight: new name (None: dropped) and order of the axes (None: unchanged)."""

    to: str | None
    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class LayoutMap:
    """Places by name and by pattern."""

    name: str
    exact: Mapping[str, Place]
    patterns: tuple[tuple[str, Place], ...]

    def place(self, weight: str) -> Place | None:
        """Return the target of a weight; None if the map has none."""
        if weight in self.exact:
            return self.exact[weight]
        return next((place for p, place in self.patterns if fnmatchcase(weight, p)), None)

    def unused(self, weights: Arrays) -> list[str]:
        """Return the keys of the map that match no weight."""
        unused = [name for name in self.exact if name not in weights]
        return unused + [p for p, _ in self.patterns if not any(fnmatchcase(w, p) for w in weights)]


def read_map(path: str) -> LayoutMap:
    """Read a layout map.

    Raises:
        DiagnosticError: CC001-CC005 for a file that cannot be read, CC964 for invalid contents.
    """
    source = read_source(path, max_bytes=_MAX_BYTES)
    try:
        data = strict_json(source.text)
    except DamagedError as error:
        raise failure("CC964", f"{source.name}: not JSON: {error}") from None
    if not isinstance(data, dict) or set(data) != {"version", "weights"} or data["version"] != 1:
        raise failure("CC964", f'{source.name}: needs exactly "version": 1 and "weights"')
    if not isinstance(data["weights"], dict) or not data["weights"]:
        raise failure("CC964", f"{source.name}: its weights are not an object from name to place")
    exact, patterns, wrong = {}, [], []
    for key, entry in data["weights"].items():
        try:
            place = _place(key, entry)
        except DamagedError as error:
            wrong.append(f"{source.name}: {key!r}: {error}")
            continue
        if "*" in key or "?" in key:
            patterns.append((key, place))
        else:
            exact[key] = place
    if wrong:
        raise DiagnosticError(*several("CC964", wrong))
    return LayoutMap(source.name, exact, tuple(patterns))


def _place(key: str, entry: Any) -> Place:
    if not isinstance(entry, dict) or "to" not in entry or set(entry) - {"to", "layout"}:
        raise DamagedError('needs "to" and allows only "layout" besides')
    to, layout = entry["to"], entry.get("layout", "same")
    if to is not None and (not isinstance(to, str) or leads_away(to) or not to.isprintable()):
        raise DamagedError('"to" is neither a name nor null')
    if to is not None and to != "=" and ("*" in key or "?" in key):
        raise DamagedError('a pattern can only keep names ("=") or drop weights (null)')
    if layout == "same":
        return Place(to)
    if layout == "transpose":
        return Place(to, (1, 0))
    whole = isinstance(layout, list) and all(type(size) is int for size in layout)
    if not whole or sorted(layout) != list(range(len(layout))):
        raise DamagedError('"layout" is neither "same", "transpose" nor an order of axes')
    return Place(to, tuple(layout))


def apply_map(state: TrainingState, layout: LayoutMap, account: Account) -> TrainingState:
    """Return a state with its weights, moments and averages renamed and transposed.

    Raises:
        DiagnosticError: CC964 for weights with no target or an invalid one.
    """
    collect = Collector()
    places = {name: place for name in state.weights if (place := layout.place(name)) is not None}
    collect.diagnostics += several(
        "CC964", (f"{layout.name}: {m}" for m in _misfits(state, layout))
    )
    collect.raise_errors()
    new = {n: n if p.to == "=" else p.to for n, p in places.items() if p.to is not None}
    moments: dict[str, dict[str, np.ndarray]] = {}
    for slot, arrays in state.moments.items():
        moments.setdefault(slot, {})
        for name, array in arrays.items():
            if name in new:
                own = _transposed_slot(slot, places[name])
                moments.setdefault(own, {})[new[name]] = _transposed(array, places[name])
    _report(state, places, account)
    return replace(
        state,
        weights={new[n]: _transposed(a, places[n]) for n, a in state.weights.items() if n in new},
        moments=moments,
        averages={new[n]: _transposed(a, places[n]) for n, a in state.averages.items() if n in new},
    )


def _misfits(state: TrainingState, layout: LayoutMap) -> Iterator[str]:
    """Yield missing, duplicate and impossible targets of the map."""
    reached: dict[str, str] = {}
    for name, array in state.weights.items():
        place = layout.place(name)
        if place is None:
            yield f"has no entry for {name!r}"
            continue
        if place.axes is not None and len(place.axes) != array.ndim:
            yield f"{name!r} has {array.ndim} dimensions, not {len(place.axes)}"
        elif _splits(place, state, name):
            yield f"{name!r}: its factored moments allow only a swap of the last two axes"
        to = name if place.to == "=" else place.to
        if to is None and any(name in arrays for arrays in state.moments.values()):
            yield f"{name!r} is trained and cannot be dropped"
        if to is not None and reached.setdefault(to, name) != name:
            yield f"{reached[to]!r} and {name!r} both become {to!r}"
    for key in layout.unused(state.weights):
        yield f"{key!r} is not a weight of the checkpoint"


def _splits(place: Place, state: TrainingState, name: str) -> bool:
    """Whether the factored moments of a weight cannot follow its new axis order."""
    if place.axes is None or name not in state.moments.get("row_var", {}):
        return False
    size = len(place.axes)
    swapped = (*range(size - 2), size - 1, size - 2)
    return place.axes not in (swapped, tuple(range(size)))


def _transposed_slot(slot: str, place: Place) -> str:
    turned = place.axes is not None and list(place.axes) != sorted(place.axes)
    return FACTORED.get(slot, slot) if turned else slot


def _transposed(array: np.ndarray, place: Place) -> np.ndarray:
    return array if place.axes is None else array.transpose(place.axes)


def _report(state: TrainingState, places: Mapping[str, Place], account: Account) -> None:
    left = [name for name, place in places.items() if place.to is None]
    turned = [n for n, place in places.items() if place.axes is not None and n not in left]
    renamed = [n for n, p in places.items() if p.to not in (None, "=", n) and n not in turned]
    if turned:
        account.add(
            "weights", len(turned), "turned", f"axes moved, also of moments: {_few(turned)}"
        )
    if renamed:
        account.add("weights", len(renamed), "renamed", f"by the map: {_few(renamed)}")
    if left:
        account.add("weights", len(left), "left out", f"by the map: {_few(left)}")
    kept = len(state.weights) - len(turned) - len(renamed) - len(left)
    if kept:
        account.add("weights", kept, "carried", "the same name and layout")


def _few(names: list[str]) -> str:
    return listed(names, most=3)
