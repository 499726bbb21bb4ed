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

    None if no row of the table explains it, or if one of them got nothing, as an embedding does.
    """
    if not ours.x or not theirs.x:
        return None
    for row in table:
        a, b = fits_of(row, ours), fits_of(row, theirs)
        if not a or not b:
            continue
        first, second = min(a, key=a.__getitem__), min(b, key=b.__getitem__)
        if a[first] > EXPLAINED or b[second] > EXPLAINED or first == second:
            continue
        if _clearly(a, first, second) and _clearly(b, second, first):
            return Named(_kind(row.kind, first, second), first, second)
    return None


def _clearly(fits: dict[str, float], best: str, other: str) -> bool:
    return fits.get(other, FAR) > CLEARER * fits[best] + NOISE


def _kind(kind: str, ours: str, theirs: str) -> str:
    """Return what the difference is called."""
    if kind == "activation" and ours.startswith("GELU") and theirs.startswith("GELU"):
        return "GELU by tanh or erf"
    if kind == "attention":
        scales = [text.partition(", mask")[0] for text in (ours, theirs)]
        return "scale of attention" if scales[0] != scales[1] else "mask of attention"
    return kind


def fits_of(row: Hypothesis, step: Step) -> dict[str, float]:
    """Return by choice how far its result is from what was recorded."""
    found: dict[str, float] = {}
    size = float(np.abs(step.y).max(initial=0)) or 1.0
    with np.errstate(all="ignore"):
        for name, y in row.choices(step):
            if y.shape == step.y.shape:
                far = float(np.abs(y - step.y).max(initial=0)) / size
                # A choice may be made in several ways, such as with other numbers of heads.
                found[name] = min(found.get(name, FAR), far if np.isfinite(far) else FAR)
    return found
