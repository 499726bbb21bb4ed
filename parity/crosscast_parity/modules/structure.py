"""Compare what an evaluation cannot show: settings, dropout, double biases, initial values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crosscast.weights.document import Place, WeightsMap
from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.comparison import Comparison
from crosscast_parity.modules.differences import INITIAL, Difference
from crosscast_parity.weights.model import Model

CHANCE = 5.0
"""Standard errors that two draws of the same distribution stay below."""
LEAST = 64
"""Values without which a distribution cannot be seen."""
NOTABLE = 0.1
"""Relative difference of deviations below which nothing is said."""
EPSILONS = {
    "batch norm": "epsilon of BatchNorm",
    "layer norm": "epsilon of LayerNorm",
    "group norm": "epsilon of GroupNorm",
    "rms norm": "epsilon of RMSNorm",
    "instance norm": "epsilon of InstanceNorm",
}


def compare_settings(comparison: Comparison) -> list[Difference]:
    """Return epsilons that differ, also where these rows do not show it."""
    differences = []
    for compared in comparison.compared:
        a, b = compared.pair.a, compared.pair.b
        ours, theirs = a.settings.get("eps"), b.settings.get("eps")
        if a.group not in EPSILONS or a.group != b.group or ours is None or theirs is None:
            continue
        if not math.isclose(float(ours), float(theirs), rel_tol=1e-3, abs_tol=0):
            words = f"{comparison.first} {ours:g}, {comparison.other} {theirs:g}"
            differences.append(
                Difference(
                    what="setting",
                    module=a.text,
                    counterpart=b.text,
                    kind=EPSILONS[a.group],
                    words=words,
                )
            )
    return differences


def compare_dropout(comparison: Comparison) -> list[Difference]:
    """Return dropout layers that have another rate or another place.

    A place is what runs before and after. A framework may also have dropout inside a function, so
    a layer without counterpart is not certain to be a difference.
    """
    anchors = [c.pair for c in comparison.compared if c.pair.a.leaf and c.pair.b.leaf]
    anchors = [pair for pair in anchors if pair.a.group != "dropout"]
    ours = _dropouts(comparison.ours, {pair.a.number: n for n, pair in enumerate(anchors)})
    theirs = _dropouts(comparison.theirs, {pair.b.number: n for n, pair in enumerate(anchors)})
    lonely: tuple[list[Call], list[Call]] = ([], [])
    differences = []
    rest = list(theirs)
    for place, call in ours:
        same = next((item for item in rest if set(item[0]) & set(place) - {None}), None)
        if same is None:
            lonely[0].append(call)
            continue
        rest.remove(same)
        rates = [c.settings.get("rate") for c in (call, same[1])]
        if rates[0] != rates[1]:
            words = f"{comparison.first} {rates[0]}, {comparison.other} {rates[1]}"
            differences.append(_dropout(call.text, same[1].text, f"rate: {words}"))
    lonely[1].extend(call for _, call in rest)
    both = bool(lonely[0] and lonely[1])
    for name, calls in zip((comparison.first, comparison.other), lonely, strict=True):
        for call in calls:
            where = "in another place" if both else "with no counterpart among layers"
            words = f"{name} has {call.text} of {call.settings.get('rate')} {where}"
            sides = (call.text, "") if calls is lonely[0] else ("", call.text)
            differences.append(_dropout(*sides, words, certain=both))
    return differences


def _dropout(module: str, counterpart: str, words: str, certain: bool = True) -> Difference:
    return Difference(
        what="setting",
        module=module,
        counterpart=counterpart,
        kind="dropout",
        words=words,
        certain=certain,
    )


def _dropouts(
    calls: Sequence[Call], anchors: dict[int, int]
) -> list[tuple[tuple[int | None, str | int | None], Call]]:
    """Return dropout layers that act, with the anchors before and after them."""
    order = [call for call in sorted(calls, key=lambda call: call.end) if call.leaf]
    placed: list[tuple[tuple[int | None, str | int | None], Call]] = []
    for position, call in enumerate(order):
        if call.group != "dropout" or not call.settings.get("rate"):
            continue
        before = [anchors[c.number] for c in order[:position] if c.number in anchors]
        after = [anchors[c.number] for c in order[position:] if c.number in anchors]
        # The first is before, the second after: numbers of both must not be mixed up.
        place = (before[-1] if before else None, f"before {after[0]}" if after else None)
        placed.append((place, call))
    return placed


def compare_initial(known: WeightsMap, models: Sequence[Model], other: str) -> list[Difference]:
    """Return tensors whose initial values come from another distribution."""
    first = models[0]
    second = next(model for model in models if model.framework == other)
    layers = {part.tensor: part.layer for model in (first, second) for part in model.parts}
    differences = []
    for entry in known.entries:
        ours, theirs = (entry.places.get(m.framework) for m in (first, second))
        if ours is None or theirs is None or ours.layout.part or theirs.layout.part:
            continue
        terms = [place.layout.term for place in (ours, theirs)]
        if any(term and term[0] for term in terms):
            continue  # compared with the first term
        drawn = first.drawn[ours.name], second.drawn[theirs.name]
        if terms[1] and not terms[0]:
            drawn = _sum(first, known, other, theirs), drawn[1]
        elif terms[0] and not terms[1]:
            drawn = drawn[0], _sum(second, known, first.framework, ours)
        words = _other(*drawn, math.prod(entry.shape))
        if words:
            differences.append(
                Difference(
                    what=INITIAL,
                    module=layers[ours.name],
                    counterpart=layers[theirs.name],
                    kind="initialisation",
                    words=f"{entry.name}: {words}",
                )
            )
    return differences


def _sum(model: Model, known: WeightsMap, other: str, place: Place) -> tuple[float, ...]:
    """Return the values of independent tensors whose sum is one tensor of another framework."""
    terms = [
        model.drawn[entry.places[model.framework].name]
        for entry, _ in known.of(other)[place.name]
        if model.framework in entry.places
    ]
    mean, deviation = sum(term[0] for term in terms), math.hypot(*(term[1] for term in terms))
    return mean, deviation, max(term[2] for term in terms)


def _other(ours: tuple[float, ...], theirs: tuple[float, ...], count: int) -> str:
    """Return how two samples of a size differ, by mean, deviation and kurtosis; "" if they may be
    of one distribution."""
    constant = [values[1] <= 1e-6 * abs(values[0]) for values in (ours, theirs)]
    if all(constant):
        same = math.isclose(ours[0], theirs[0], rel_tol=1e-4, abs_tol=1e-6)
        return "" if same else f"all {ours[0]:g} and all {theirs[0]:g}"
    if any(constant):
        texts = [
            f"all {v[0]:g}" if flat else f"deviation {v[1]:.3g}"
            for v, flat in zip((ours, theirs), constant, strict=True)
        ]
        return " and ".join(texts)
    if count < LEAST:
        return ""
    errors = [v[1] * math.sqrt(max(v[2] - 1, 0.1) / (4 * count)) for v in (ours, theirs)]
    apart = abs(ours[1] - theirs[1])
    if apart > CHANCE * math.hypot(*errors) and apart > NOTABLE * max(ours[1], theirs[1]):
        return f"deviations {ours[1]:.3g} and {theirs[1]:.3g}"
    error = math.hypot(ours[1], theirs[1]) / math.sqrt(count)
    if abs(ours[0] - theirs[0]) > CHANCE * error:
        return f"means {ours[0]:.3g} and {theirs[0]:.3g}"
    return ""
