"""Where W processes, W-fold accumulation and one large batch are *not* the same, by design.

What a window does to the weights depends on its rows only through the sum of their losses, each
times a weight: one through the number of rows or labels of the window, or through the micro-batch
that the row is in. The law holds exactly where all shapes give every row of every window the same
weight. That is arithmetic on the recipe and the number of rows; nothing is run for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Literal

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Normalize
from crosscast.recipe.document import Recipe
from crosscast_parity.scaling_law.shapes import Shape, WindowPlaces, windows_of

Kind = Literal["left out", "means of means"]

REASONS: dict[Kind, str] = {
    "left out": "it has fewer rows than processes and is dropped; one process trains on it (CC304)",
    "means of means": "the mean of micro-batch means weighs a row by the size of its micro-batch,"
    " and the window is cut differently",
}
"""Why a window differs, in words."""
SAME = 1e-12
"""Relative difference of two weights that is rounding in float64."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """The first window in which two shapes differ by design.

    `shape`: the one that differs from the first. `rows`: of the window in the first shape.
    """

    kind: Kind
    window: int
    rows: int
    shape: Shape

    @property
    def words(self) -> str:
        """What a user reads."""
        size = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"a window of {size}: {REASONS[self.kind]}"


def exceptions_of(
    recipe: Recipe, shapes: Sequence[Shape], train_rows: int, windows: int
) -> tuple[Exemption, ...]:
    """Return where the shapes do not train alike, by shape; nothing where the law holds.

    Args:
        recipe: how a window is normalised and how epochs end.
        shapes: of one number of rows; the first is what the others are held against.
        train_rows: rows of an epoch.
        windows: how many are looked at.
    """
    first, *others = [(shape, shape.applied(recipe)) for shape in shapes]
    exemptions = (_first_difference(first, other, train_rows, windows) for other in others)
    return tuple(exemption for exemption in exemptions if exemption is not None)


def possible_exceptions(recipe: Recipe, shapes: Sequence[Shape]) -> tuple[Exemption, ...]:
    """Return one example of every kind that some number of rows brings about."""
    first, *others = [(shape, shape.applied(recipe)) for shape in shapes]
    whole = shapes[0].rows
    by_kind: dict[Kind, Exemption] = {}
    for rest in range(1, whole):
        for other in others:
            exemption = _first_difference(first, other, whole + rest, 2)
            if exemption is not None:
                by_kind.setdefault(exemption.kind, exemption)
    return tuple(by_kind.values())


Shaped = tuple[Shape, Recipe]


def _first_difference(
    first: Shaped, other: Shaped, train_rows: int, windows: int
) -> Exemption | None:
    feeds = (islice(windows_of(recipe, train_rows), windows) for _, recipe in (first, other))
    normalizes = [_normalize(recipe) for _, recipe in (first, other)]
    for number, (a, b) in enumerate(zip_longest(*feeds)):
        if a is None or b is None or _rows(a) != _rows(b):
            return Exemption("left out", number, len(_rows(b if a is None else a)), other[0])
        mine, theirs = (_weights(*pair) for pair in zip(normalizes, (a, b), strict=True))
        if any(abs(mine[row] - theirs[row]) > SAME * mine[row] for row in mine):
            return Exemption("means of means", number, len(mine), other[0])
    return None


def _rows(window: WindowPlaces) -> list[int]:
    return sorted(int(row) for rank in window for micro in rank for row in micro)


def _normalize(recipe: Recipe) -> Normalize:
    normalize = canonical_plan(recipe).find(Normalize)
    assert normalize is not None
    return normalize


def _weights(normalize: Normalize, window: WindowPlaces) -> dict[int, float]:
    """Return the factor of every row's loss, with as many labels as rows."""
    micros = [micro for rank in window for micro in rank]
    held = len(micros) if normalize.unit == "microbatch" else sum(map(len, micros))
    divisor = held if normalize.renormalize else normalize.full
    return {
        int(row): 1.0 / divisor / (len(micro) if normalize.unit == "microbatch" else 1)
        for micro in micros
        for row in micro
    }
