"""Propose which tensor of one model is which of another: by names, by structure, by order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from crosscast.weights.layout import Layout
from crosscast_parity.weights.layouts import NONE, Flattened, layouts_for
from crosscast_parity.weights.model import Model, Part
from crosscast_parity.weights.names import without_common, words


@dataclass(frozen=True, slots=True)
class Match:
    """Two tensors that are the same, how the second is laid out, and why it is thought so."""

    a: Part
    b: Part
    layout: Layout
    reason: str


@dataclass(slots=True)
class Pairing:
    """The matches between two models, by the name of the first tensor."""

    first: Model
    second: Model
    flattened: Flattened = field(default_factory=lambda: NONE)
    matches: dict[str, Match] = field(default_factory=dict)

    def add(self, a: Part, b: Part, reason: str, layout: Layout | None = None) -> bool:
        """Add a match if both are free and fit."""
        if a.name in self.matches or b.name in self.taken:
            return False
        layouts = layouts_for(a, b, self.flattened)
        if not layouts:
            return False
        self.matches[a.name] = Match(a, b, layout or layouts[0], reason)
        return True

    @property
    def taken(self) -> set[str]:
        """Names of the second model's tensors that have a match."""
        return {match.b.name for match in self.matches.values()}

    def free(self) -> tuple[list[Part], list[Part]]:
        """Return the tensors without a match, of both models."""
        taken = self.taken
        return (
            [part for part in self.first.parts if part.name not in self.matches],
            [part for part in self.second.parts if part.name not in taken],
        )


def propose(first: Model, second: Model, flattened: Flattened = NONE) -> Pairing:
    """Return the matches that names, structure and order suggest, in this order."""
    pairing = Pairing(first, second, flattened)
    by_names(pairing)
    by_layers(pairing)
    by_order(pairing, lambda part: (part.group, tuple(sorted(part.squeezed)), _way(part)))
    by_layers(pairing)
    by_order(pairing, lambda part: (part.statistic, tuple(sorted(part.squeezed))))
    return pairing


def keys_of(parts: Sequence[Part]) -> list[tuple[str, ...]]:
    """Return the words of the names of tensors, roles instead of what the tensors are called."""
    names = without_common([words(part.layer) or ("",) for part in parts])
    return [
        (*name, *words(part.suffix), _role(part)) for name, part in zip(names, parts, strict=True)
    ]


def _role(part: Part) -> str:
    if part.role and part.role != "embedding":
        return part.role
    leaf = words(part.tensor.removeprefix(part.layer))[-1:] or ("",)
    return "kernel" if part.role or leaf[0] == "weight" else leaf[0]


def _way(part: Part) -> str:
    return part.role if part.role.endswith(("_ih", "_hh")) else ""


def by_names(pairing: Pairing) -> None:
    """Match tensors whose names are the same, or mean the same and no others mean that."""
    first, second = pairing.first.parts, pairing.second.parts
    named = {part.name: part for part in second}
    for part in first:
        if part.name in named:
            pairing.add(part, named[part.name], "the same name")
    ours, theirs = keys_of(first), keys_of(second)
    once = {key for key, count in Counter(ours).items() if count == 1}
    where = dict(zip(theirs, second, strict=True))
    double = {key for key, count in Counter(theirs).items() if count > 1}
    for key, part in zip(ours, first, strict=True):
        if key in once and key in where and key not in double:
            pairing.add(part, where[key], "the same name")


def by_layers(pairing: Pairing) -> None:
    """Match what is left of layers of which other tensors have matches already."""
    layers: dict[str, Counter[str]] = defaultdict(Counter)
    for match in pairing.matches.values():
        layers[match.a.layer][match.b.layer] += 1
    ours, theirs = pairing.free()
    offered: dict[str, list[Part]] = defaultdict(list)
    for part in theirs:
        offered[part.layer].append(part)
    for part in ours:
        candidates = [
            other
            for layer in layers.get(part.layer, ())
            for other in offered[layer]
            if other.name not in pairing.taken and layouts_for(part, other)
        ]
        same = [other for other in candidates if _role(other) == _role(part)] or candidates
        if len(same) == 1:
            pairing.add(part, same[0], "the same layer")


def by_order(pairing: Pairing, kind: Callable[[Part], Hashable]) -> None:
    """Match tensors of a kind that stand at the same place in the order of execution."""
    ours, theirs = pairing.free()
    single(pairing, ours, theirs, kind)
    ours, theirs = pairing.free()
    counts = Counter(map(kind, ours)), Counter(map(kind, theirs))
    even = {key for key in counts[0] if counts[0][key] == counts[1][key]}
    for key in sorted(even, key=repr):
        group = [part for part in ours if kind(part) == key], [p for p in theirs if kind(p) == key]
        for a, b in zip(*group, strict=True):
            pairing.add(a, b, "the same place in the order of execution")
    ours, theirs = pairing.free()
    matcher = SequenceMatcher(None, [kind(p) for p in ours], [kind(p) for p in theirs], False)
    for block in matcher.get_matching_blocks():
        for k in range(block.size):
            a, b = ours[block.a + k], theirs[block.b + k]
            pairing.add(a, b, "the same place in the order of execution")


def single(
    pairing: Pairing, ours: Iterable[Part], theirs: Iterable[Part], kind: Callable[[Part], Hashable]
) -> None:
    """Match tensors that are the only ones of their kind in both models."""
    groups: dict[Hashable, tuple[list[Part], list[Part]]] = {}
    for side, parts in enumerate((ours, theirs)):
        for part in parts:
            groups.setdefault(kind(part), ([], []))[side].append(part)
    for a, b in groups.values():
        if len(a) == len(b) == 1:
            pairing.add(a[0], b[0], "the only one of this shape")
