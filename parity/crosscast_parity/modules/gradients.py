"""Which parameters lack a gradient, or a part of it, in one of two frameworks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crosscast.weights.convert import canonical_arrays
from crosscast.weights.document import WeightsMap
from crosscast_parity.modules.differences import Difference
from crosscast_parity.weights.proof import GRADIENTS
from crosscast_parity.weights.workers import Computed

NO_GRADIENT = "a parameter without gradient"
PART_OF_GRADIENT = "a gradient that is cut in part"


def parted_gradients(
    both: WeightsMap, computed: Mapping[str, Computed], far: Mapping[str, float]
) -> list[Difference]:
    """Return the parameters whose gradients differ, those without any first.

    A gradient is cut where it is 0 in one framework and not in the other: all of it, or the rows of
    a tied table that one of its two layers no longer reaches.

    Args:
        both: The map of weights of two frameworks.
        computed: What both compute.
        far: How far apart the gradients are, by canonical tensor.
    """
    first, other = both.frameworks
    sides = {
        name: canonical_arrays(computed[name].gradients, both, name, "gradients")
        for name in both.frameworks
    }
    differences = []
    for entry in both.entries:
        if far.get(entry.name, 0.0) <= GRADIENTS:
            continue
        ours, theirs = (_entries(sides[name].get(entry.name)) for name in both.frameworks)
        kind, words = "", f"its gradients differ by {far[entry.name]:.1e} of their size"
        for name, mine, others in ((first, ours, theirs), (other, theirs, ours)):
            cut = others & ~mine if mine.shape == others.shape else others
            if cut.any() and not mine.any():
                kind, words = NO_GRADIENT, f"its gradient is cut in {name}: 0 or absent"
            elif cut.sum() > _FEW * others.sum():
                kind = PART_OF_GRADIENT
                words = f"its gradient is cut in {name}: 0 in {cut.sum()} of {cut.size} entries"
        places = [entry.places[name].name for name in both.frameworks]
        where = f"{first}: {places[0]}; {other}: {places[1]}; {words}"
        differences.append(
            Difference(
                what="gradient", module=places[0], counterpart=places[1], kind=kind, words=where
            )
        )
    order = (NO_GRADIENT, PART_OF_GRADIENT, "")
    return sorted(differences, key=lambda one: order.index(one.kind))


_FEW = 0.02
"""Share of entries that may be 0 in one framework alone because a ReLU is beside 0."""


def _entries(gradient: np.ndarray | None) -> np.ndarray:
    return np.zeros(1, bool) if gradient is None else gradient != 0
