"""Make one map of weights from the matches of a model with each of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from crosscast.weights.convert import doubled
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import Misfit, Shape, check_whole
from crosscast.weights.shapes import implied_shape
from crosscast_parity.weights.matching import Pairing
from crosscast_parity.weights.model import Model, Part

DOUBLE_BIAS = (
    "one bias, the sum of two elsewhere, which have its gradient each: a step moves their sum "
    "twice as far. Converted, the first has all of it and the second is 0."
)
TIED = "tied: one tensor of several names"


def assemble(first: Model, pairings: Sequence[Pairing]) -> WeightsMap:
    """Return the map of all frameworks, in the order of execution of the first one."""
    models = [first, *(pairing.second for pairing in pairings)]
    entries = []
    for part in first.parts:
        matches = {p.second.framework: p.matches.get(part.name) for p in pairings}
        places = {first.framework: _place(part, part.shape)}
        for framework, match in matches.items():
            if match is not None:
                places[framework] = _place(replace(match.b, layout=match.layout), part.shape)
        if len(places) > 1:
            entries.append(Entry(name=part.name, shape=part.shape, places=places))
    known = WeightsMap(frameworks=tuple(m.framework for m in models), entries=tuple(entries))
    known = whole_only(single_terms(known))
    used = {m.framework: set(known.of(m.framework)) for m in models}
    left = {m.framework: tuple(_left(m, used[m.framework])) for m in models}
    summed = doubled(known)
    return replace(known, entries=tuple(_noted(e, summed) for e in known.entries), left=left)


def _place(part: Part, canonical: Shape) -> Place:
    follows = implied_shape(part.layout, canonical) == part.full
    shape = None if follows else part.full
    frozen = not (part.trainable or part.statistic or part.fixed)
    return Place(name=part.tensor, also=part.also, layout=part.layout, shape=shape, frozen=frozen)


def _left(model: Model, used: set[str]) -> list[str]:
    names = {name: (name, *part.also) for part in model.parts for name in [part.tensor]}
    left = [other for name, all_ in names.items() if name not in used for other in all_]
    return [*left, *model.counters]


def single_terms(known: WeightsMap) -> WeightsMap:
    """Return a map in which a sum of one term is no sum."""
    counts: Mapping[tuple[str, str], int] = Counter(
        (framework, place.name)
        for entry in known.entries
        for framework, place in entry.places.items()
        if place.layout.term is not None
    )
    entries = []
    for entry in known.entries:
        places = {
            framework: replace(place, layout=replace(place.layout, term=None))
            if place.layout.term is not None and counts[framework, place.name] == 1
            else place
            for framework, place in entry.places.items()
        }
        entries.append(replace(entry, places=places))
    return replace(known, entries=tuple(entries))


def whole_only(known: WeightsMap) -> WeightsMap:
    """Return a map without tensors of which only some parts or terms have a counterpart."""
    broken: set[tuple[str, str]] = set()
    for framework in known.frameworks:
        for name, held in known.of(framework).items():
            try:
                check_whole([place.layout for _, place in held])
            except Misfit:
                broken.add((framework, name))
    if not broken:
        return known
    entries = []
    for entry in known.entries:
        places = {f: place for f, place in entry.places.items() if (f, place.name) not in broken}
        if len(places) > 1:
            entries.append(replace(entry, places=places))
    return whole_only(replace(known, entries=tuple(entries)))


def _noted(entry: Entry, summed: Mapping[str, Collection[str]]) -> Entry:
    notes = [
        f"{framework}: {DOUBLE_BIAS}"
        for framework, place in entry.places.items()
        if place.name in summed[framework] and place.layout.term == (0, 2)
    ]
    tied = [framework for framework, place in entry.places.items() if place.also]
    if tied:
        notes.append(f"{', '.join(tied)}: {TIED}")
    return replace(entry, notes=(*entry.notes, *notes))


def unmatched(known: WeightsMap, models: Sequence[Model]) -> dict[str, list[Part]]:
    """Return the tensors that have no counterpart and are not filled by the model itself."""
    by_framework = {}
    for model in models:
        left = set(known.left.get(model.framework, ()))
        parts = [p for p in model.parts if p.tensor in left and not p.fixed]
        first = {part.tensor: part for part in reversed(parts)}
        by_framework[model.framework] = [part for part in parts if first[part.tensor] is part]
    return by_framework
