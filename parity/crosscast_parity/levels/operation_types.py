"""Level L0d: the types of a custom model's operations, against those of the reference.

A recipe says in which type products run. All else a framework decides by its autocast or policy and
by what it is given, so it is compared with the reference, operation by operation: the calls of one
operation whose results have one size are the same, in their order. A sum here adds two tensors of
its own size; biases, masks and positions are broadcast.

Autocasts have different lists: with the same types given, PyTorch's computes a mean in half and
Paddle's in float32. What follows from that alone, up to the next product, is told and not judged.
Casts to half matter where something else than a product takes what they return: a normalization in
float32 of rounded numbers is another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.inside.emulate import HALF
from crosscast_parity.inside.manifest import CLASSES
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.type_manifest import Manifest, OrderedCall

LEVEL: Level = "L0d"
NAME = "operations, against the reference"
WHOLE = {"add": "sum", "sub": "sum", "mul": "product", "div": "product"}
"""Operations that are compared where they broadcast nothing, and what they are called."""
PRODUCTS = CLASSES["matmul"]
LEFT_OUT = PRODUCTS | CLASSES["casts"] | CLASSES["losses"] | {"dropout"}
"""Judged by the recipe, visible in what follows, emitted, and not called by the runs."""
MOST_NAMED = 3
"""Operations that are named where several differ: the first call of each."""
Key = tuple[str, int | None]
Placed = tuple[int, OrderedCall]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two calls that are the same and computed in other types; `number`: place in our order."""

    number: int
    key: Key
    ours: OrderedCall
    reference: OrderedCall

    @property
    def words(self) -> str:
        """What differs, and where."""
        place = f" of {self.ours.place}" if self.ours.place else ""
        at = self.reference.place
        other = f" ({at})" if at and at != self.ours.place else ""
        return (
            f"{self.key[0]}{place} in {_type(self.ours)}, in the reference{other} in"
            f" {_type(self.reference)}"
        )


def _type(call: OrderedCall) -> str:
    return f"{call.output}{' of what was cast to half' if call.narrowed else ''}"


def _unlike(ours: OrderedCall, reference: OrderedCall) -> bool:
    return (ours.output, ours.narrowed) != (reference.output, reference.narrowed)


def compare_operations(ours: Manifest | None, reference: Manifest | None) -> tuple[Check, ...]:
    """Compare the types of a program's operations with those of the reference.

    Args:
        ours: what was recorded of the program's first forward pass.
        reference: what was recorded of the reference's.
    """
    if not ours or not reference or not ours.order or not reference.order:
        return (untested(LEVEL, NAME, "no operations were recorded"),)
    our_groups, reference_groups = _groups(ours.order), _groups(reference.order)
    differences: list[Difference] = []
    mixed: list[str] = []
    alone: list[str] = []
    compared = 0
    for key in our_groups.keys() | reference_groups.keys():
        a, b = our_groups.get(key, []), reference_groups.get(key, [])
        outputs = {call.output for _, call in (*a, *b)}
        sides = f"{key[0]} ({len(a)} here, {len(b)} in the reference)"
        if not a or not b:
            alone += [sides] * bool(outputs & {*HALF})
        elif len(a) == len(b) and key[1] is not None:
            compared += len(a)
            pairs = zip(a, b, strict=True)
            differences += [Difference(n, key, x, y) for (n, x), (_, y) in pairs if _unlike(x, y)]
        elif len(outputs) > 1:
            mixed.append(sides)
        else:  # one type on both sides, whichever belong together
            compared += min(len(a), len(b))
    wrong, own = _judged(sorted(differences, key=lambda each: each.number), ours.order)
    checks = [_verdict(wrong, own, compared)]
    closed = sorted({*ours.closed, *reference.closed})
    rest = (
        ("cannot be told apart: {}", mixed),
        ("without counterpart: {}", alone),
        ("what runs inside of {} was not seen", closed),
    )
    words = [text.format(", ".join(sorted(names))) for text, names in rest if names]
    if words:
        checks.append(untested(LEVEL, f"{NAME}, the rest", "; ".join(words)))
    return tuple(checks)


def _groups(order: Iterable[OrderedCall]) -> Mapping[Key, list[Placed]]:
    groups: dict[Key, list[Placed]] = defaultdict(list)
    for number, call in enumerate(order):
        if call.name in LEFT_OUT or (call.name in WHOLE and not call.whole):
            continue
        groups[WHOLE.get(call.name, call.name), call.size].append((number, call))
    return groups


def _judged(
    differences: Iterable[Difference], order: tuple[OrderedCall, ...]
) -> tuple[list[Difference], list[Difference]]:
    """Return differences, and those that the frameworks make by themselves."""
    wrong: list[Difference] = []
    own: list[Difference] = []
    for difference in differences:
        since = max((n for n in range(difference.number) if order[n].name in PRODUCTS), default=-1)
        types = difference.ours.output, difference.reference.output
        follows = any(
            d.number > since and (d.ours.output, d.reference.output) == types for d in own
        )
        same = (difference.ours.inputs, difference.ours.narrowed) == (
            difference.reference.inputs,
            difference.reference.narrowed,
        )
        by_itself = same and difference.ours.usual and difference.reference.usual
        (own if by_itself or follows else wrong).append(difference)
    return wrong, own


def _verdict(wrong: list[Difference], own: list[Difference], compared: int) -> Check:
    if wrong:
        first: dict[str, Difference] = {}
        for difference in wrong:
            first.setdefault(difference.key[0], difference)
        sentences = [difference.words for difference in first.values()][:MOST_NAMED]
        more = [f"{len(wrong) - len(sentences)} more"] if len(wrong) > len(sentences) else []
        words = "; ".join((*sentences, *more))
        return Check(level=LEVEL, name=NAME, result="fail", wording=words)
    if not compared:
        return untested(LEVEL, NAME, "no operation has a counterpart")
    sentences = [f"by autocast or policy: {difference.words}" for difference in own[:1]]
    fine = "; ".join((f"{compared} operations in the types of the reference", *sentences))
    return Check(level=LEVEL, name=NAME, result="pass", wording=fine)
