"""Tell tensors by their gradients.

Tensors that might be the same get the same values in both models (`drawing.draw_alike`). Then the
models compute the same, whichever is which, and the gradient of each tensor is that of its
counterpart. One run of each model settles what would take many trials of pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from crosscast.weights.layout import Layout, Shape, to_canonical
from crosscast_parity.weights.layouts import class_of, layouts_for
from crosscast_parity.weights.matching import Match, Pairing, by_layers, by_order
from crosscast_parity.weights.model import Model, Part

Gradients = Mapping[str, np.ndarray]
MOST = 4096
"""Elements of a gradient that are looked at."""
NEAR = 0.02
"""Relative distance up to which gradients are the same."""
FAR = 0.5
"""Relative distance from which they are not, also where the models differ a little."""
SILENT = 1e-6
"""Size of a gradient, relative to the largest one, below which it is rounding noise."""


def merged_shapes(*models: Model) -> set[Shape]:
    """Return the sorted shapes of tensors of unknown layers, which can be anything."""
    return {
        tuple(sorted(part.squeezed))
        for model in models
        for part in model.parts
        if not part.known and not part.statistic
    }


def by_gradients(
    proposal: Pairing, ours: Gradients, theirs: Gradients, merged: Collection[Shape]
) -> Pairing:
    """Return the matches that gradients show; what they do not show is as it was proposed.

    Args:
        proposal: Matches by names, structure and order.
        ours: Gradients of the first model by names of its tensors.
        theirs: Those of the second model.
        merged: See `class_of`.
    """
    first, second = proposal.first, proposal.second
    pairing = Pairing(first, second, proposal.flattened)
    loud = _loud(first, ours), _loud(second, theirs)
    classes: dict[object, tuple[list[Part], list[Part]]] = defaultdict(lambda: ([], []))
    for side, model in enumerate((first, second)):
        for part in model.parts:
            if part.name in loud[side]:
                classes[class_of(part, merged)][side].append(part)
    for group in classes.values():
        for match in _nearest(proposal, *group, ours, theirs):
            pairing.add(match.a, match.b, match.reason, match.layout)
    by_layers(pairing)
    for match in proposal.matches.values():
        pairing.add(match.a, match.b, match.reason, match.layout)
    by_layers(pairing)
    by_order(pairing, lambda part: (part.group, tuple(sorted(part.squeezed))))
    return pairing


def _loud(model: Model, gradients: Gradients) -> set[str]:
    """Return the names of tensors whose gradient is more than noise."""
    sizes = {name: float(np.abs(array).max(initial=0)) for name, array in gradients.items()}
    floor = SILENT * max(sizes.values(), default=0.0)
    return {
        part.name
        for part in model.parts
        if not part.statistic and sizes.get(part.tensor, 0.0) > floor
    }


def _nearest(
    proposal: Pairing, ours: list[Part], theirs: list[Part], mine: Gradients, other: Gradients
) -> list[Match]:
    """Return the matches of a class, the nearest first; among equals those that were proposed."""
    ranked: list[tuple[float, bool, int, Match]] = []
    for a in ours:
        sample = _sample(mine[a.tensor], a.layout, a.shape)
        proposed = proposal.matches.get(a.name)
        for b in theirs:
            for number, layout in enumerate(layouts_for(a, b, proposal.flattened)):
                far = distance(sample, _sample(other[b.tensor], layout, a.shape))
                if far > FAR:
                    continue
                mark = 0.0 if far < NEAR else far
                again = proposed is not None and (proposed.b.name, proposed.layout) == (
                    b.name,
                    layout,
                )
                match = proposed if proposed and again else Match(a, b, layout, "the same gradient")
                ranked.append((mark, not again, number + abs(a.rank - b.rank), match))
    ranked.sort(key=lambda item: item[:3])
    nearest: dict[str, Match] = {}
    taken: set[str] = set()
    for *_, match in ranked:
        if match.a.name not in nearest and match.b.name not in taken:
            nearest[match.a.name] = match
            taken.add(match.b.name)
    return list(nearest.values())


def _sample(gradient: np.ndarray, layout: Layout, shape: Shape) -> np.ndarray:
    array = to_canonical(gradient, layout, shape).reshape(-1)
    if array.size <= MOST:
        return array
    chosen = np.random.default_rng(array.size).integers(0, array.size, MOST)
    return array[chosen]


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the size of the difference relative to the larger one; 0 if both are 0."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("inf")
    size = max(float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    return float(np.linalg.norm(a.astype(np.float64) - b)) / size if size else 0.0
