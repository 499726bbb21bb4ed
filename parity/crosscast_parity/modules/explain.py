"""Name a difference: the choices that explain what two frameworks did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscast_parity.modules.hypotheses import TABLE, Hypothesis
from crosscast_parity.modules.steps import Step

EXPLAINED = 1e-4
"""Relative difference up to which a choice explains what was recorded, in float32."""
CLEARER = 3.0
"""So many times worse must be the choice of the other framework."""
NOISE = 5e-7
FAR = float("inf")


@dataclass(frozen=True, slots=True)
class Named:
    """A known difference: its kind, and what each framework does."""

    kind: str
    ours: str
    theirs: str


def explained(ours: Step, theirs: Step, table: Sequence[Hypothesis] = TABLE) -> Named | None:
    """Return the known difference between two steps.

    None if no row of the table explains it.
    """
    for row in table:
        if row.inputs and not (ours.x and theirs.x):
            continue
        a, b = fits_of(row, ours), fits_of(row, theirs)
        chosen = _closest(row, a, b)
        if chosen is None:
            continue
        first, second = chosen
        if _clearly(a, first, second) and _clearly(b, second, first):
            return _name_difference(row, first, second)
    return None


def _closest(
    row: Hypothesis, ours: dict[str, float], theirs: dict[str, float]
) -> tuple[str, str] | None:
    """Return the choices of both that fit and have most in common; None if one fits both.

    Several fit where they are the same, as padding on all sides and `same` without a stride.
    """
    pairs = [(a, b) for a in _fitting(ours) for b in _fitting(theirs)]

    def apart(pair: tuple[str, str]) -> int:
        return sum(a != b for a, b in zip(*map(row.parts, pair), strict=True))

    best = min(pairs, key=apart, default=None)
    return best if best is not None and apart(best) else None


def _fitting(fits: dict[str, float]) -> list[str]:
    best = min(fits.values(), default=FAR)
    limit = min(EXPLAINED, CLEARER * best + NOISE)
    return [name for name, far in fits.items() if far <= limit]


def _clearly(fits: dict[str, float], best: str, other: str) -> bool:
    return fits.get(other, FAR) > CLEARER * fits[best] + NOISE


def _name_difference(row: Hypothesis, ours: str, theirs: str) -> Named:
    """Return the name of the difference, and the parts in which choices differ."""
    parts = zip(row.kinds, row.parts(ours), row.parts(theirs), strict=True)
    other = [(kind, a, b) for kind, a, b in parts if a != b]
    kind = other[0][0]
    if kind == "activation" and ours.startswith("GELU") and theirs.startswith("GELU"):
        kind = "GELU by tanh or erf"
    return Named(kind, ", ".join(a for _, a, _ in other), ", ".join(b for *_, b in other))


def fits_of(row: Hypothesis, step: Step) -> dict[str, float]:
    """Return by choice how far its result is from what was recorded."""
    distances: dict[str, float] = {}
    size = float(np.abs(step.y).max(initial=0)) or 1.0
    with np.errstate(all="ignore"):
        for name, y in row.choices(step):
            if y.shape == step.y.shape:
                far = float(np.abs(y - step.y).max(initial=0)) / size
                # A choice may be made in several ways, such as with other numbers of heads.
                distances[name] = min(distances.get(name, FAR), far if np.isfinite(far) else FAR)
    return distances
