"""Recompute observed windows: recorded gradients to new weights, by the reference's formulas.

The operations are those of `crosscast.reference`, in float64, on one tensor at a time, so that a
large model fits. Every window starts from the weights that were observed before it; only the
moments and the counters are carried from window to window, and after a gap taken from the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from crosscast.plan import loss_scale
from crosscast.plan.operations import (
    CheckFinite,
    Clip,
    Normalize,
    Op,
    Plan,
    Scale,
    Schedule,
    Step,
    Unscale,
)
from crosscast.plan.schedule import learning_rate
from crosscast.reference import optimizer_formulas
from crosscast.reference.data import Arithmetic, Array, MicroBatch, Roles
from crosscast.reference.operations import Attempt, Micro, perform
from crosscast_parity.recordings.observations import ObservedWindow, Tensors

Source = Literal["applied", "total"]
"""What an update is computed from: the gradients that the optimizer was given, or the sums."""

FLOAT32_ROOM = 2.0
"""Units in the last place of a parameter by which rounding to float32 may move it."""
SIGN_NOISE = 1e-5
"""Lion: a sum that cancels to less than this share of its parts has no reliable sign."""
LOST_SQUARE = 1e-36
"""Adam: second moments below this lose digits in float32, or vanish."""
NO_PART = 1e-6
"""Of epsilon: beside it, smaller roots of second moments do not matter."""
_EXPONENT, _ULP, _SMALLEST = np.uint32(0x7F800000), np.float32(2.0**-23), np.float32(2.0**-149)


def loss_factor(plan: Plan, window: ObservedWindow) -> float:
    """Return the factor of a micro-batch's loss before the backward pass."""
    attempt = _attempt(plan, {}, window, {}, "float64")
    batch = MicroBatch(loss=0.0, gradients={}, rows=1)
    attempt.micro = Micro(batch, loss=np.float64(0), factor=np.float64(1), batch=batch)
    for op in plan.micro:
        if isinstance(op, Normalize | Scale):
            perform(attempt, op)
    return float(attempt.micro.factor)


def _attempt(
    plan: Plan, roles: Roles, window: ObservedWindow, sums: Tensors, arithmetic: Arithmetic
) -> Attempt:
    rows = sum(window.micro_rows)
    numbers = {name: np.asarray(array, dtype=arithmetic) for name, array in sums.items()}
    return Attempt(
        plan=plan,
        roles=roles,
        arithmetic=arithmetic,
        n_micro=len(window.micro_rows),
        rows=rows,
        tokens=rows if window.tokens is None else window.tokens,
        parameters=numbers,
        moments={},
        ema={},
        updates=0,
        position=0,
        scale=loss_scale.ScaleState(window.row.scale),
        sums=[dict(numbers)],
        losses=[0.0],
    )


def gradients_of(
    plan: Plan,
    roles: Roles,
    window: ObservedWindow,
    arithmetic: Arithmetic = "float64",
    *,
    upto: type[Unscale] | type[Clip] = Clip,
) -> tuple[dict[str, Array], bool]:
    """Return the gradients for the optimizer, computed from the sums, and whether all are finite.

    `upto` Unscale leaves them as they are before clipping.
    """
    ops: tuple[type[Any], ...] = (Unscale, CheckFinite, *((Clip,) if upto is Clip else ()))
    attempt = _performed(plan, roles, window, arithmetic, ops)
    return attempt.sums[0], attempt.finite


def norm_of(plan: Plan, roles: Roles, window: ObservedWindow) -> float:
    """Return the norm that a trace tells: unscaled, not clipped, without exempt parameters."""
    only_told = replace(plan, window=tuple(map(_unclipped, plan.window)))
    return _performed(only_told, roles, window, "float64", (Unscale, Clip)).norm


def _unclipped(op: Op) -> Op:
    return replace(op, mode="none") if isinstance(op, Clip) else op


def _performed(
    plan: Plan,
    roles: Roles,
    window: ObservedWindow,
    arithmetic: Arithmetic,
    ops: tuple[type[Any], ...],
) -> Attempt:
    """Do some operations of the plan on the sums of a window."""
    attempt = _attempt(plan, roles, window, window.total, arithmetic)
    with np.errstate(all="ignore"):
        attempt.finite = all(bool(np.isfinite(g).all()) for g in attempt.sums[0].values())
        for op in plan.window:
            if isinstance(op, ops):
                perform(attempt, op)
    return attempt


@dataclass(frozen=True, slots=True)
class Moved:
    """One parameter after one update. `doubtful`: entries that rounding decides, if there are."""

    name: str
    weight: Array
    doubtful: Array | None = None


@dataclass(slots=True)
class Optimizer:
    """What an optimizer carries from window to window.

    With `names` only these parameters are updated. `initial`: moments by `slot/name` that the run
    held where it was resumed. `ahead`: how many updates the bias correction counts too many.
    """

    plan: Plan
    roles: Roles
    arithmetic: Arithmetic = "float64"
    names: Collection[str] | None = None
    updates: int = 0
    position: int = 0
    moments: dict[str, dict[str, Array]] = field(default_factory=dict)
    initial: Tensors = field(default_factory=dict)
    ahead: int = 0

    def resume(self, window: ObservedWindow) -> None:
        """Go on at a window that follows a gap, from what the run held before it."""
        schedule, row = self.plan.find(Schedule), window.row
        self.updates = max(0, row.updates - (not row.skipped))
        by_attempt = schedule is not None and schedule.tick == "attempt"
        self.position = window.window if by_attempt else self.updates
        self.moments, self.initial = {}, window.held.moments if window.held else {}

    def held(self) -> dict[str, Array]:
        """Return all moments by `slot/name`."""
        moved = {
            f"{slot}/{name}": array
            for name, slots in self.moments.items()
            for slot, array in slots.items()
        }
        return {**self.initial, **moved}

    def skip(self) -> None:
        """Take note of a skipped window."""
        schedule = self.plan.find(Schedule)
        self.position += schedule is not None and schedule.tick == "attempt"

    def update(self, before: Tensors, gradients: Mapping[str, Array]) -> Iterator[Moved]:
        """Yield the parameters after an update; those without a gradient are left out."""
        op, schedule = self.plan.find(Step), self.plan.find(Schedule)
        assert op is not None
        assert schedule is not None
        rate = learning_rate(schedule, self.position)
        self.updates += 1
        self.position += 1
        for name in before:
            if name in gradients and (self.names is None or name in self.names):
                yield self._update(op, name, before[name], gradients[name], rate)

    def _update(self, op: Step, name: str, weight: Array, gradient: Array, rate: float) -> Moved:
        decay, factor = optimizer_formulas.settings_of(op, name, self.roles.get(name, ()))
        shapes = optimizer_formulas.slot_shapes(op, weight.shape)
        held = self.moments.get(name) or {
            slot: self._first(f"{slot}/{name}", shape) for slot, shape in shapes.items()
        }
        gradient = np.asarray(gradient, dtype=self.arithmetic)
        with np.errstate(all="ignore"):
            new, self.moments[name] = optimizer_formulas.update(
                op,
                np.asarray(weight, dtype=self.arithmetic),
                gradient,
                held,
                rate=rate * factor,
                t=max(1, self.updates + self.ahead),
                decay=decay,
            )
            return Moved(name, new, _doubtful(op, gradient, held, self.moments[name]))

    def _first(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return the moment that the run held; zeros at its beginning or for another shape."""
        held = self.initial.get(name)
        if held is None or held.shape != shape:
            return np.zeros(shape, self.arithmetic)
        return np.asarray(held, self.arithmetic)


def _doubtful(
    op: Step, gradient: Array, held: Mapping[str, Array], moments: Mapping[str, Array]
) -> Array | None:
    if op.optimizer == "lion":
        parts = op.betas[0] * held["exp_avg"], (1.0 - op.betas[0]) * gradient
        return np.asarray(np.abs(sum(parts)) < SIGN_NOISE * (np.abs(parts[0]) + np.abs(parts[1])))
    if "exp_avg_sq" in moments:
        squares = moments["exp_avg_sq"]
        lost = (squares > 0) & (squares < LOST_SQUARE)
        return np.asarray(lost & (np.sqrt(squares) > NO_PART * op.eps)) if lost.any() else None
    return None


def update_error(window: ObservedWindow, moved: Moved) -> tuple[float, float]:
    """Return how far an observed update is from the replayed one, relative to that.

    The norm of the difference, less what float32 may have rounded off, by the norm of the replayed
    change. Where nothing should have changed, 0 if nothing did, else infinite. The first number is
    without doubtful entries, the second with them.
    """
    before = window.before[moved.name].astype(np.float64)
    after = window.after[moved.name].astype(np.float64)
    off = np.maximum(np.abs(after - moved.weight) - rounding_room(before, after), 0.0)
    step = norm(moved.weight - before)
    whole = ratio(norm(off), step)
    if moved.doubtful is None or not moved.doubtful.any():
        return whole, whole
    off[moved.doubtful] = 0.0
    return ratio(norm(off), step), whole


def rounding_room(*values: Array) -> Array:
    """Return the rounding error of float32 for numbers of this size, entry by entry."""
    largest = np.abs(values[0])
    for array in values[1:]:
        largest = np.maximum(largest, np.abs(array))
    with np.errstate(all="ignore"):
        # As `np.spacing`, in a third of its time.
        powers = (largest.astype(np.float32).view(np.uint32) & _EXPONENT).view(np.float32)
        spacing: Array = np.maximum(powers * _ULP, _SMALLEST).astype(np.float64)
    return FLOAT32_ROOM * spacing


def norm(array: Array) -> float:
    """Return the L2 norm of an array of any shape, summed in float64."""
    flat = np.asarray(array, dtype=np.float64).ravel()
    return math.sqrt(np.einsum("i,i->", flat, flat))  # not BLAS, whose threads would wait


def ratio(off: float, whole: float) -> float:
    """Return `off / whole`; 0 if nothing is off, infinite if `whole` is 0 or one is not finite."""
    if off == 0.0:
        return 0.0
    quotient = off / whole if whole > 0.0 else float("inf")
    return quotient if quotient == quotient else float("inf")


def chains(windows: Iterable[ObservedWindow]) -> list[list[ObservedWindow]]:
    """Return the windows in parts without a gap."""
    parts: list[list[ObservedWindow]] = []
    for window in windows:
        if parts and window.window == parts[-1][-1].window + 1:
            parts[-1].append(window)
        else:
            parts.append([window])
    return parts


def with_moments(plan: Plan, windows: Iterable[ObservedWindow]) -> list[ObservedWindow]:
    """Return the windows whose updates can be recomputed: what the run held before is known."""
    op = plan.find(Step)
    stateless = op is None or not optimizer_formulas.slot_shapes(op, (1, 1))
    return [
        window
        for chain in chains(windows)
        if stateless or chain[0].window == 0 or chain[0].held is not None
        for window in chain
    ]


def replays(
    plan: Plan,
    roles: Roles,
    windows: Iterable[ObservedWindow],
    source: Source,
    optimizer: Optimizer | None = None,
) -> Iterator[tuple[ObservedWindow, Iterator[Moved]]]:
    """Yield the windows with their recomputed updates; skipped windows with none.

    What a window yields must be used up before the next window is asked for.
    """
    optimizer = optimizer or Optimizer(plan, roles)
    for chain in chains(windows):
        if chain[0].window != 0:
            optimizer.resume(chain[0])
        yield from _replayed(plan, roles, chain, source, optimizer)


def _replayed(
    plan: Plan,
    roles: Roles,
    windows: Iterable[ObservedWindow],
    source: Source,
    optimizer: Optimizer,
) -> Iterator[tuple[ObservedWindow, Iterator[Moved]]]:
    for window in windows:
        if window.row.skipped:
            optimizer.skip()
            yield window, iter(())
            continue
        gradients: Mapping[str, Array] = window.applied
        if source == "total":
            gradients, _ = gradients_of(plan, roles, window, optimizer.arithmetic)
        yield window, optimizer.update(window.before, gradients)
