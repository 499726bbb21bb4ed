"""Compare what training changes beside weights: the running statistics of BatchNorm.

One call as in training shows which momentum and which variance a framework uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crosscast_parity.modules.alignment import Pair, aligned
from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.differences import RUNNING_VARIANCE, Difference
from crosscast_parity.modules.steps import Held, channels_first

KEPT = (0.9, 0.99, 0.1, 0.999, 0.95, 0.01, 0.0, 1.0)
"""Shares of the old value that may stay."""
CLOSE = 1e-4
Statistics = Mapping[str, np.ndarray]


def compare_state(
    names: tuple[str, str],
    calls: tuple[Sequence[Call], Sequence[Call]],
    after: tuple[Statistics, Statistics],
    held: Held,
) -> list[Difference]:
    """Return how the statistics of two frameworks change in another way.

    Args:
        names: Of the frameworks.
        calls: Of both, in training.
        after: Canonical statistics of both after the call.
        held: What they were before it.
    """
    differences = []
    for pair in aligned(*calls):
        sides = [
            _choice(call, statistics, held)
            for call, statistics in zip((pair.a, pair.b), after, strict=True)
        ]
        if not pair.a.leaf or sides[0] is None or sides[1] is None:
            continue
        if sides[0] != sides[1]:
            differences.append(_difference(names, pair, sides[0], sides[1], held))
    return differences


Choice = tuple[float | None, str]
"""The share of the old value that stays, None if none fits, and the variance that is added."""


def _choice(call: Call, after: Statistics, held: Held) -> Choice | None:
    """Return the update of a call's statistics that fits best; None if it has none."""
    roles = {held.roles[name].role: name for name in call.own if name in held.roles}
    if not call.inputs or not {"mean", "variance"} <= set(roles):
        return None
    mean, variance = roles["mean"], roles["variance"]
    if mean not in after or variance not in after or mean not in held.values:
        return None
    x = channels_first(call.inputs[0], call).astype(np.float64)
    if x.shape[1] != held.values[mean].size:
        return None
    fits = []
    for choice, expected in _choices(x, held.values[mean], held.values[variance]):
        far = max(
            _relative_difference(after[mean], expected[0]),
            _relative_difference(after[variance], expected[1]),
        )
        fits.append((far, choice))
    far, best = min(fits)
    return best if far <= CLOSE else (None, "")


def _choices(
    x: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> Iterator[tuple[tuple[float, str], tuple[np.ndarray, np.ndarray]]]:
    axes = (0, *range(2, x.ndim))
    count = x.size // x.shape[1]
    batch, spread = x.mean(axes), x.var(axes)
    for kept in KEPT:
        moved = kept * mean + (1 - kept) * batch
        for name, factor in (("biased", 1.0), ("unbiased", count / max(1, count - 1))):
            yield (kept, name), (moved, kept * variance + (1 - kept) * spread * factor)


def _relative_difference(a: np.ndarray, b: np.ndarray) -> float:
    size = float(np.abs(b).max(initial=0)) or 1.0
    return float(np.abs(a.reshape(-1) - b.reshape(-1)).max(initial=0)) / size


def _difference(
    names: tuple[str, str], pair: Pair, ours: Choice, theirs: Choice, held: Held
) -> Difference:
    kind = ""
    if None not in (ours[0], theirs[0]):
        kind = "momentum of BatchNorm" if ours[0] != theirs[0] else RUNNING_VARIANCE
    words = ", ".join(
        f"{name} "
        + (
            f"keeps {side[0]:g} and adds the {side[1]} variance"
            if side[0] is not None
            else "does something else"
        )
        for name, side in zip(names, (ours, theirs), strict=True)
    )
    if kind == RUNNING_VARIANCE:
        words += "; training does not read it, evaluations do: there it differs by n / (n - 1)"
    variances = (n for n in pair.a.own if n in held.roles and held.roles[n].role == "variance")
    return Difference(
        what="state",
        module=pair.a.text,
        counterpart=pair.b.text,
        kind=kind,
        words=words,
        tensors=tuple(variances),
    )
