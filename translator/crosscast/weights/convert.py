"""Convert arrays of one framework to another by a map of weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import Misfit, from_canonical, to_canonical
from crosscast.weights.shapes import shape_of

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray"]
Kind = Literal["weights", "gradients"]
"""Gradients, and moments of them, are the same for every term of a sum."""


def canonical_arrays(
    arrays: Arrays, known: WeightsMap, framework: str, kind: Kind = "weights"
) -> dict[str, np.ndarray]:
    """Return arrays of a framework by canonical name; those that are missing have none.

    Raises:
        Misfit: An array has another shape than the map says.
    """
    canonical = {}
    for name, held in known.of(framework).items():
        if name not in arrays:
            continue
        for entry, place in held:
            try:
                array = to_canonical(arrays[name], place.layout, entry.shape)
            except Misfit as error:
                raise Misfit(f"{name!r} {error}") from None
            later = place.layout.term is not None and place.layout.term[0] > 0
            canonical[entry.name] = 0 * array if later and kind == "weights" else array
    return canonical


def framework_arrays(
    canonical: Arrays, known: WeightsMap, framework: str, kind: Kind = "weights"
) -> dict[str, np.ndarray]:
    """Return canonical arrays by the names of a framework, every tied name included.

    A tensor of which nothing is given has none.

    Raises:
        Misfit: A tensor is given in part only.
    """
    by_name: dict[str, np.ndarray] = {}
    for name, held in known.of(framework).items():
        present = [(entry, place) for entry, place in held if entry.name in canonical]
        if not present:
            continue
        if kind == "gradients" and present[0][1].layout.term is not None:
            present = present[:1]
            array = _single(canonical, *present[0])
        else:
            parts = [(canonical[entry.name], place.layout) for entry, place in present]
            try:
                array = from_canonical(parts, shape_of(held))
            except Misfit as error:
                raise Misfit(f"{name!r} {error}") from None
        also = {other for _, place in held for other in place.also}
        by_name |= dict.fromkeys((name, *sorted(also)), array)
    return by_name


def doubled(known: WeightsMap) -> dict[str, set[str]]:
    """Return by framework the tensors of which another one trains two, whose sum they are."""
    by_framework: dict[str, set[str]] = {framework: set() for framework in known.frameworks}
    for framework in known.frameworks:
        for name, held in known.of(framework).items():
            for other in known.frameworks if held[0][1].layout.term else ():
                places = [entry.places[other] for entry, _ in held if other in entry.places]
                trained = [p for p in places if not p.frozen and p.layout.term is None]
                if len(trained) > 1:
                    by_framework[framework].add(name)
    return by_framework


def _single(canonical: Arrays, entry: Entry, place: Place) -> np.ndarray:
    """Return the array of a term by itself."""
    layout = replace(place.layout, term=None)
    shape = place.shape or shape_of([(entry, replace(place, layout=layout))])
    return from_canonical([(canonical[entry.name], layout)], shape)


def converted(
    arrays: Arrays, known: WeightsMap, of: str, to: str, kind: Kind = "weights"
) -> dict[str, np.ndarray]:
    """Return arrays of one framework as another has them.

    Raises:
        Misfit: An array has another shape than the map says, or is missing in part.
    """
    return framework_arrays(canonical_arrays(arrays, known, of, kind), known, to, kind)
