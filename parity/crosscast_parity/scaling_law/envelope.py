"""The effect of rounding on losses, norms and every tensor of the state.

As in `levels.envelope`: the first shape is run again from weights perturbed by 1e-7, in half
precision also in float32; 20 times the largest distance is the limit, and never less than 20 times
the floor of the type. Tensors get the same, each by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast_parity.levels.envelope import FACTOR, Envelope, measure_envelope
from crosscast_parity.levels.losses import FLOOR
from crosscast_parity.levels.recompute import FLOAT32_ROOM, norm
from crosscast_parity.scaling_law.steps import Arrays, Steps

SMALL = 1e-3
"""A tensor is measured against its own size, but at least against this share of all together."""
MOVING = ("parameters", "ema")
"""Slots that begin as the weights: what they have moved by is compared, not where they are."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of one process, and the weights that it began with."""

    steps: Steps
    start: Arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a run may be from the reference. `tensors`: by window, then by `slot/parameter`."""

    dtype: Dtype
    scalars: Envelope
    tensors: Mapping[int, Mapping[str, float]]

    @property
    def floor(self) -> float:
        """The smallest spread that is believed."""
        return FLOOR[self.dtype]

    def loss(self, window: int) -> float:
        """Return the largest difference of a loss."""
        return self.scalars.limit(window, self.floor)

    def norm(self, window: int) -> float:
        """Return the largest relative difference of a gradient norm."""
        return FACTOR * max(self.scalars.norms[window], self.floor)

    def tensor(self, window: int, name: str) -> float:
        """Return the largest relative distance of a tensor."""
        return FACTOR * max(self.tensors[window].get(name, 0.0), self.floor)


def measure_tolerance(
    reference: Run,
    twins: Sequence[Run],
    kin: Sequence[Run],
    windows: int,
    dtype: Dtype,
    other: Tolerance | None = None,
) -> Tolerance:
    """Measure the envelope of a reference.

    Args:
        reference: the first shape.
        twins: the same from perturbed weights.
        kin: of runs that differ by rounding as well, as the same program in float32.
        windows: of a run.
        dtype: compute type of the recipe.
        other: of another course of the same programs; what it has measured of tensors holds here.
    """
    scalars = measure_envelope(
        reference.steps.rows,
        [run.steps.rows for run in twins],
        [run.steps.rows for run in kin],
    )
    tensors: dict[int, dict[str, float]] = {}
    worst: dict[str, float] = {}
    for window in range(windows):
        others = [run for run in (*twins, *kin) if run.steps.kept(window)]
        if not reference.steps.kept(window) or not others:
            continue
        for run in others:
            for name, size in distances(run, reference, window).items():
                if math.isinf(size):  # that would let everything pass
                    continue
                worst[name] = max(worst.get(name, 0.0), size)
        if other is not None:
            for name, size in other.tensors.get(window, {}).items():
                worst[name] = max(worst.get(name, 0.0), size)
        tensors[window] = dict(worst)
    return Tolerance(dtype=dtype, scalars=scalars, tensors=tensors)


def distances(ours: Run, theirs: Run, window: int) -> dict[str, float]:
    """Return how far every tensor after a window is off, relative to its size, by name."""
    mine, yours = (_state(run, window) for run in (ours, theirs))
    sizes = {name: norm(array) for name, array in yours.items()}
    by_tensor: dict[str, float] = {}
    for name in sorted(mine.keys() | yours.keys()):
        if name not in mine or name not in yours or mine[name].shape != yours[name].shape:
            by_tensor[name] = math.inf
            continue
        slot, _, parameter = name.partition("/")
        everything = math.hypot(*(s for n, s in sizes.items() if n.startswith(f"{slot}/")))
        tolerance = 0.0
        if slot in MOVING:
            tolerance = (
                FLOAT32_ROOM * float(np.finfo(np.float32).eps) * norm(theirs.start[parameter])
            )
        off = norm(mine[name] - yours[name]) - tolerance
        size = max(sizes[name], SMALL * everything)
        if off <= 0:
            by_tensor[name] = 0.0
        else:  # also where something is not finite
            share = off / size if size else math.inf
            by_tensor[name] = share if math.isfinite(share) else math.inf
    return by_tensor


def _state(run: Run, window: int) -> dict[str, np.ndarray]:
    """Return the tensors after a window in float64; for weights, the change since the start."""
    tensors = {}
    for name, array in run.steps.arrays(window).items():
        slot, _, parameter = name.partition("/")
        moved = array.astype(np.float64)
        if slot in MOVING and parameter in run.start:
            start = run.start[parameter]
            with np.errstate(invalid="ignore"):  # a mask may hold -inf, which does not move
                moved = np.where(moved == start, 0.0, moved - start)
        tensors[name] = moved
    return tensors
