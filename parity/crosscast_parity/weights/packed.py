"""Cut packed tensors, such as query, key and value in one, where the other model has them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from crosscast.weights.layout import SAME, Shape, moved_shape
from crosscast_parity.weights.model import Model, Part

COUNTS = (3, 2, 4)
Kind = tuple[str, Shape]


def cut_alike(models: Sequence[Model]) -> list[Model]:
    """Return models whose packed tensors are cut where another model has the parts apart."""
    alike = list(models)
    for _ in range(2):  # what the second pass cuts, others have cut in the first
        for i, model in enumerate(alike):
            for other in alike:
                if other is not model:
                    model = cut(model, other)
            alike[i] = model
    return alike


def cut(model: Model, other: Model) -> Model:
    """Return a model with those tensors cut of which the other has the parts instead."""
    ours, theirs = _kinds(model.parts), _kinds(other.parts)
    parts: list[Part] = []
    for part in model.parts:
        count = _count(part, ours, theirs)
        if not count:
            parts.append(part)
            continue
        pieces = _pieces(part, count)
        ours[_kind(part)] -= 1
        ours[_kind(pieces[0])] += count
        parts += pieces
    if len(parts) == len(model.parts):
        return model
    return model.with_parts([replace(part, rank=rank) for rank, part in enumerate(parts)])


def _kind(part: Part) -> Kind:
    return part.group, part.squeezed


def _kinds(parts: Sequence[Part]) -> Counter[Kind]:
    return Counter(map(_kind, parts))


def _count(part: Part, ours: Counter[Kind], theirs: Counter[Kind]) -> int:
    """Return into how many pieces a tensor is to be cut; 0 for not at all."""
    plain = replace(part.layout, axes=None) == SAME
    if not plain or not part.shape or ours[_kind(part)] <= theirs[_kind(part)]:
        return 0
    leading = moved_shape(part.layout, part.full)[0]
    for count in COUNTS:
        if part.shape[0] % count or leading % count:
            continue
        kind = _kind(_pieces(part, count)[0])
        if theirs[kind] - ours[kind] >= count:
            return count
    return 0


def _pieces(part: Part, count: int) -> list[Part]:
    shape = (part.shape[0] // count, *part.shape[1:])
    return [
        replace(part, suffix=str(k), shape=shape, layout=replace(part.layout, part=(k, count)))
        for k in range(count)
    ]
