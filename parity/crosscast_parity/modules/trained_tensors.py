"""Compare which tensors train, and how convolutions are grouped: outputs do not show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crosscast.weights.document import Entry, WeightsMap
from crosscast_parity.modules.differences import Difference
from crosscast_parity.modules.kinds import group_of
from crosscast_parity.weights.model import Model, Part

DOUBLE, GROUPS = "double bias", "groups of a convolution"


def compare_biases(known: WeightsMap, models: Sequence[Model]) -> list[Difference]:
    """Return double biases that train where another framework has one."""
    parts = {m.framework: {p.tensor: p for p in m.parts} for m in models}
    first = known.frameworks[0]
    differences = []
    for framework in known.frameworks:
        for tensor, held in known.of(framework).items():
            if len(held) < 2 or any(place.layout.term is None for _, place in held):
                continue
            for other in known.frameworks:
                places = [entry.places[other] for entry, _ in held if other in entry.places]
                names = {place.name for place in places}
                both = len(names) == len(held) and other != framework
                if both and all(parts[other][name].trainable for name in names):
                    words = f"{other} trains {' and '.join(sorted(names))}, {framework} their sum"
                    sides = parts[other][places[0].name].layer, parts[framework][tensor].layer
                    differences.append(
                        Difference(
                            what="setting",
                            module=sides[0] if other == first else sides[1],
                            counterpart=sides[1] if other == first else sides[0],
                            kind=DOUBLE,
                            words=words,
                        )
                    )
    return differences


def compare_frozen(known: WeightsMap, models: Sequence[Model]) -> list[Difference]:
    """Return tensors that train in one of two frameworks alone.

    The second bias of a recurrent layer is a double bias: its gradient is that of the first, so two
    that train move their sum twice as far as one.
    """
    first, second = known.frameworks
    parts = {m.framework: {p.tensor: p for p in m.parts} for m in models}
    differences = []
    for entry in known.entries:
        ours, theirs = (_part(entry, name, parts[name]) for name in (first, second))
        if ours is None or theirs is None or ours.trainable == theirs.trainable:
            continue
        trains, other = (first, second) if ours.trainable else (second, first)
        part = ours if ours.trainable else theirs
        double = part.role == "bias_hh" and "gru" not in part.base.lower()
        words = f"{trains} trains {part.tensor}, {other} does not"
        if double:
            words += ": two biases that train move their sum twice as far"
        differences.append(
            Difference(
                what="setting",
                module=ours.layer,
                counterpart=theirs.layer,
                kind=DOUBLE if double else "frozen weight",
                words=words,
            )
        )
    return differences


def _part(entry: Entry, framework: str, parts: Mapping[str, Part]) -> Part | None:
    """Return a framework's tensor if an optimizer may change it as a whole, otherwise None."""
    place = entry.places[framework]
    part = parts.get(place.name)
    apart = place.layout.term is not None or place.layout.part is not None
    return None if part is None or apart or part.fixed or part.statistic else part


def compare_groups(names: tuple[str, str], left: Mapping[str, Sequence[Part]]) -> list[Difference]:
    """Return convolutions whose kernels have other shapes because of other groups.

    Args:
        names: Of both frameworks.
        left: By framework the tensors without a counterpart.
    """
    differences, kernels = [], [[p for p in left.get(name, ()) if _convolves(p)] for name in names]
    for ours, theirs in zip(*kernels, strict=False):
        (out, each, *size), (other_out, other_each, *other_size) = ours.shape, theirs.shape
        many, few = max(each, other_each), min(each, other_each)
        if (out, size) != (other_out, other_size) or many == few or many % few:
            continue
        words = f"{names[0]} {each} channels in a group, {names[1]} {other_each}"
        differences.append(
            Difference(
                what="setting",
                module=ours.layer,
                counterpart=theirs.layer,
                kind=GROUPS,
                words=words,
            )
        )
    return differences


def _convolves(part: Part) -> bool:
    group = group_of(part.base, part.kind)
    return part.role == "kernel" and group == "convolution" and len(part.shape) > 2
