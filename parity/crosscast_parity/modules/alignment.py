"""Which call of a module in one framework is which in another.

Modules that hold the same canonical tensors are the same. Those without tensors are paired by what
runs before or after them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.kinds import SPATIAL
from crosscast_parity.modules.layouts import distance, fits, other_sizes
from crosscast_parity.weights.proof import OUTPUTS

NEARLY = 0.1
"""Share of a difference that is left where one layer contains what comes after the other."""
FAR = float("inf")
RECURRENT = ("lstm", "gru", "rnn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two calls that are the same. `first_of`: where several calls of a framework are one of the
    other, the first of them; its inputs are those of the pair."""

    a: Call
    b: Call
    first_of_a: Call
    first_of_b: Call

    @property
    def other_sizes(self) -> bool:
        """Whether both return images or series of other sizes."""
        return other_sizes(self.a.outputs[0], self.b.outputs[0])


def aligned(ours: Sequence[Call], theirs: Sequence[Call]) -> list[Pair]:
    """Return the pairs of calls of two frameworks, in the order in which the first one's end."""
    pairs = [_recut(pair, ours, theirs) for pair in _with_tensors(ours, theirs)]
    pairs += _stacked(ours, theirs, pairs)
    pairs += _without_tensors(ours, theirs, pairs)
    pairs = [pair for pair in pairs if not (pair.other_sizes and _same_after(pair, ours, theirs))]
    return sorted(pairs, key=lambda pair: pair.a.end)


def _recut(pair: Pair, ours: Sequence[Call], theirs: Sequence[Call]) -> Pair:
    """Return a pair that ends with the activation in both, where one layer contains it.

    What comes after a layer belongs to it if that returns nearly what the other layer does.
    """
    a, b = pair.a, pair.b
    far = distance(a.outputs[0], b.outputs[0])
    if not (a.leaf and b.leaf and OUTPUTS < far < FAR and _same_inputs(pair)):
        return pair
    ways = [
        *((after, b) for after in _after(a, ours)),
        *((a, after) for after in _after(b, theirs)),
    ]
    distances = [distance(x.outputs[0], y.outputs[0]) for x, y in ways]
    nearest = min(range(len(ways)), key=distances.__getitem__, default=None)
    if nearest is None or distances[nearest] > NEARLY * far:
        return pair
    one, other = ways[nearest]
    return replace(pair, a=one, b=other)


def _same_inputs(pair: Pair) -> bool:
    x, y = pair.first_of_a.inputs, pair.first_of_b.inputs
    both = zip(x, y, strict=False)
    return len(x) == len(y) > 0 and all(distance(i, j) <= OUTPUTS for i, j in both)


def _after(call: Call, calls: Sequence[Call]) -> Iterator[Call]:
    """Yield the layer with its output changed: by a module that takes it, or by code before one."""
    later = sorted((c for c in calls if c.number > call.number), key=lambda c: c.number)
    shape = call.outputs[0].shape
    for other in later:
        if not (other.leaf and other.inputs and other.inputs[0].shape == shape):
            continue
        if np.array_equal(other.inputs[0], call.outputs[0]):
            if not other.tensors:
                yield other
            continue
        yield replace(call, outputs=(other.inputs[0],), gradients=(None,))
        return


def _pair(a: Call, b: Call) -> Pair:
    return Pair(a=a, b=b, first_of_a=a, first_of_b=b)


def _with_tensors(ours: Sequence[Call], theirs: Sequence[Call]) -> list[Pair]:
    groups: dict[object, tuple[list[Call], list[Call]]] = defaultdict(lambda: ([], []))
    for side, calls in enumerate((ours, theirs)):
        for call in calls:
            if call.tensors:
                groups[call.tensors, call.count][side].append(call)
    return [pair for group in groups.values() for pair in _nested(*group)]


def _nested(ours: Sequence[Call], theirs: Sequence[Call]) -> list[Pair]:
    """Pair modules around the same tensors, in order, those that return the same before others."""
    ranked = []
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            if _comparable(a, b):
                other = distance(a.outputs[0], b.outputs[0]) > OUTPUTS
                ranked.append((other, a.group != b.group, abs(i - j), i, j))
    partners: dict[int, int] = {}
    for *_, i, j in sorted(ranked):
        crossing = any((i - k) * (j - m) <= 0 for k, m in partners.items())
        if not crossing:
            partners[i] = j
    return [_pair(ours[i], theirs[j]) for i, j in partners.items()]


def _comparable(a: Call, b: Call) -> bool:
    """Whether two calls may be the same one: by their shapes, or although these differ.

    A user's code may reshape, slice and repeat anything, so only layers of a known kind whose
    settings decide on sizes are compared in spite of them.
    """
    x, y = a.outputs[0], b.outputs[0]
    if fits(x, y):
        return True
    return a.leaf and b.leaf and a.group == b.group in SPATIAL and other_sizes(x, y)


def _same_after(pair: Pair, ours: Sequence[Call], theirs: Sequence[Call]) -> bool:
    """Whether the next layers get the same: code between has cut what a layer has added."""
    x, y = _next_input(pair.a, ours), _next_input(pair.b, theirs)
    return x is not None and y is not None and distance(x, y) <= OUTPUTS


def _next_input(call: Call, calls: Sequence[Call]) -> np.ndarray | None:
    later = [c for c in calls if c.number > call.number and c.leaf and c.inputs]
    return min(later, key=lambda c: c.number).inputs[0] if later else None


def _stacked(ours: Sequence[Call], theirs: Sequence[Call], pairs: Sequence[Pair]) -> list[Pair]:
    """Pair a recurrent module of several layers with those that are one layer each."""
    stacked = []
    for side, (one, many) in enumerate(((ours, theirs), (theirs, ours))):
        taken = {(pair.b if side else pair.a).number for pair in pairs}
        for call in one:
            if call.number in taken or not call.group.startswith(RECURRENT):
                continue
            inner = [c for c in many if c.tensors and c.tensors < call.tensors]
            outer = [c for c in inner if not any(c.parent == o.number for o in inner)]
            whole = outer and frozenset().union(*(c.tensors for c in outer)) == call.tensors
            if whole and fits(call.outputs[0], outer[-1].outputs[0]):
                a, b, first = call, outer[-1], outer[0]
                stacked.append(
                    Pair(a=b, b=a, first_of_a=first, first_of_b=a)
                    if side
                    else Pair(a=a, b=b, first_of_a=a, first_of_b=first)
                )
    return stacked


def _without_tensors(
    ours: Sequence[Call], theirs: Sequence[Call], pairs: Sequence[Pair]
) -> list[Pair]:
    """Pair modules without tensors that run after, or before, the same pair."""
    anchors = [pair for pair in pairs if pair.a.leaf and pair.b.leaf]
    before = (
        _neighbours(ours, {pair.a.number: n for n, pair in enumerate(anchors)}),
        _neighbours(theirs, {pair.b.number: n for n, pair in enumerate(anchors)}),
    )
    added, taken = [], set()
    plain = (
        [c for c in ours if c.leaf and not c.tensors],
        [c for c in theirs if c.leaf and not c.tensors],
    )
    for a in plain[0]:
        for b in plain[1]:
            neighbours = before[0][a.number], before[1][b.number]
            near = neighbours[0][0] == neighbours[1][0] or neighbours[0][1] == neighbours[1][1]
            if near and b.number not in taken and a.group == b.group and _comparable(a, b):
                taken.add(b.number)
                added.append(_pair(a, b))
                break
    return added


def _neighbours(
    calls: Sequence[Call], anchors: dict[int, int]
) -> dict[int, tuple[int | None, int | None]]:
    """Return for every call the anchor that has ended before it, and the next one."""
    order = sorted(calls, key=lambda call: call.end)
    before: dict[int, int | None] = {}
    last: int | None = None
    for call in order:
        before[call.number] = last
        last = anchors.get(call.number, last)
    neighbours: dict[int, tuple[int | None, int | None]] = {}
    after: int | None = None
    for call in reversed(order):
        neighbours[call.number] = before[call.number], after
        after = anchors.get(call.number, after)
    return neighbours
