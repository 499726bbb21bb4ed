"""Level L1b: whether an update read half copies of float32 weights, where it decays them.

What that moves is far below what float32 resolves of one weight: with decoupled decay, rate times
decay times the rounding error of a half number. But it has one direction in every weight, that of
its rounding, and there are many. So the rest that the replayed update leaves is projected on what
the half weights would have moved: that is all of it or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosscast.plan.operations import Dtype, Plan
from crosscast.reference.data import Arithmetic, Array, Roles
from crosscast.reference.rounding import round_to
from crosscast_parity.levels.recompute import Optimizer, Source, replays, rounding_room
from crosscast_parity.recordings.observations import ObservedWindow

SURE = 8.0
"""Standard errors of the share that are no chance."""
SHARE = (0.5, 1.5)
"""Of what half weights would have moved: right runs have 0, those that read them 1."""
MOST = 1_000_000
"""Weights that are looked at."""

Windows = Sequence[ObservedWindow]


@dataclass(slots=True)
class Projection:
    """Sums over weights of products: of what half weights move, and of the rest."""

    moved: float = 0.0
    both: float = 0.0
    rest: float = 0.0
    count: int = 0

    def add(self, moved: Array, rest: Array) -> None:
        """Add the weights of a tensor, in units of their own rounding."""
        self.moved += float(np.vdot(moved, moved))
        self.both += float(np.vdot(moved, rest))
        self.rest += float(np.vdot(rest, rest))
        self.count += moved.size

    @property
    def share(self) -> float:
        """How much of what half weights move the rest contains."""
        return self.both / self.moved if self.moved else 0.0

    @property
    def error(self) -> float:
        """The standard error of the share if the rest is chance."""
        if not self.moved or not self.count:
            return math.inf
        return math.sqrt(self.rest / self.count / self.moved)


def reads_rounded(plan: Plan, roles: Roles, seen: Windows, source: Source, half: Dtype) -> str:
    """Return in words that updates read weights in half; empty if nothing shows that they do.

    Args:
        plan: what the program should do.
        roles: roles of the parameters.
        seen: windows with known moments, all values finite.
        source: the gradients to begin with.
        half: the type of copies of the weights.
    """
    observed = _projected(plan, roles, seen, source, half)
    if not SHARE[0] < observed.share < SHARE[1] or observed.share < SURE * observed.error:
        return ""
    # Some products of rate and decay round in float32 as the half type does.
    right = _projected(plan, roles, seen, source, half, simulated=True)
    if right.share > SHARE[0] / 2:
        return ""
    return f"it reads weights that were rounded to {half}"


def _projected(
    plan: Plan,
    roles: Roles,
    seen: Windows,
    source: Source,
    half: Dtype,
    *,
    simulated: bool = False,
) -> Projection:
    """Project the rest of all updates; of a right float32 program instead of the run."""
    names, projection = _names(seen), Projection()

    def optimizer(arithmetic: Arithmetic = "float64") -> Optimizer:
        return Optimizer(plan, roles, arithmetic, names)

    exact = replays(plan, roles, seen, source, optimizer())
    rounded = [replace(window, before=_rounded(window, names, half)) for window in seen]
    others = replays(plan, roles, rounded, source, optimizer())
    singles = replays(plan, roles, seen, source, optimizer("float32"))
    for (window, moves), (_, halves), (_, single) in zip(exact, others, singles, strict=True):
        for move, other, mine in zip(moves, halves, single, strict=True):
            before = window.before[move.name].astype(np.float64)
            after = mine.weight if simulated else window.after[move.name]
            unit = rounding_room(before, move.weight)
            shift = other.weight - round_to(window.before[move.name], half) + before - move.weight
            if shift.any():
                rest = np.asarray(after, np.float64) - move.weight
                projection.add(shift / unit, np.clip(rest / unit, -1e3, 1e3))
    return projection


def _names(seen: Windows) -> frozenset[str]:
    return frozenset(_first(seen[0])) if seen else frozenset()


def _first(window: ObservedWindow) -> Iterator[str]:
    """Yield parameters until there are many weights."""
    count = 0
    for name in window.before:
        if count >= MOST:
            return
        count += window.before[name].size
        yield name


def _rounded(window: ObservedWindow, names: frozenset[str], half: Dtype) -> dict[str, Array]:
    return {
        name: round_to(array, half) if name in names else array
        for name, array in window.before.items()
    }
