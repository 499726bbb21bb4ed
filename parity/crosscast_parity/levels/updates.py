"""How far the observed updates of a run are from the replayed ones, tensor by tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosscast.plan.operations import Plan
from crosscast.reference.data import Roles
from crosscast_parity.levels.recompute import (
    Moved,
    Optimizer,
    Source,
    norm,
    ratio,
    replays,
    rounding_room,
    update_error,
)
from crosscast_parity.recordings.observations import ObservedWindow, Tensors

Windows = Sequence[ObservedWindow]


@dataclass(frozen=True, slots=True)
class WindowErrors:
    """Relative errors of one window's updates by name.

    `resolved`: the largest norm of a replayed change, in units of what float32 may round off.
    `whole`: the errors of tensors with entries that rounding decides, with those entries.
    """

    window: int
    errors: Mapping[str, float]
    resolved: float
    whole: Mapping[str, float]


def choose_source(windows: Windows) -> Source | None:
    """Return the gradients from which updates can be replayed; None if too little was recorded."""
    updated = [window for window in windows if not window.row.skipped]
    if updated and all(window.applied for window in updated):
        return "applied"
    return "total" if updated and all(window.total for window in updated) else None


def finite_part(windows: Windows, source: Source) -> Windows:
    """Return the windows before the first whose gradients or weights are not finite."""
    for number, window in enumerate(windows):
        gradients = {} if window.row.skipped else getattr(window, source)
        if not (all_finite(window.after) and all_finite(gradients)):
            return windows[:number]
    return windows


def all_finite(tensors: Tensors) -> bool:
    """Whether no entry is inf or nan."""
    return all(bool(np.isfinite(array).all()) for array in tensors.values())


def measure_updates(
    plan: Plan,
    roles: Roles,
    windows: Windows,
    source: Source,
    names: Collection[str] | None = None,
    *,
    ahead: int = 0,
) -> tuple[WindowErrors, ...]:
    """Replay windows and measure every update, of skipped windows none.

    Args:
        plan: what the program should do.
        roles: roles of the parameters, see `roles_of`.
        windows: with known moments (see `with_moments`), all values finite.
        source: the gradients to begin with.
        names: only these parameters; all if left out.
        ahead: how many updates a bias correction is given that were none.
    """
    measured = []
    optimizer = Optimizer(plan, roles, names=names, ahead=ahead)
    for window, moved in replays(plan, roles, windows, source, optimizer):
        errors, resolved, whole = {}, 0.0, {}
        for update in moved:
            errors[update.name], with_all = update_error(window, update)
            if with_all != errors[update.name]:
                whole[update.name] = with_all
            resolved = max(resolved, _resolution(window, update))
        measured.append(WindowErrors(window.window, errors, resolved, whole))
    return tuple(measured)


def _resolution(window: ObservedWindow, moved: Moved) -> float:
    before = window.before[moved.name].astype(np.float64)
    return ratio(norm(moved.weight - before), norm(rounding_room(before)))


def arithmetic_noise(
    plan: Plan, roles: Roles, windows: Windows, source: Source, names: Collection[str]
) -> Mapping[int, Mapping[str, float]]:
    """Return the float32 rounding error of the updates by window and name.

    It is large where a recipe is at the end of what float32 holds: squares of gradients that
    vanish, or norms that overflow.
    """
    runs = (
        replays(plan, roles, windows, source, Optimizer(plan, roles, arithmetic, names))
        for arithmetic in ("float32", "float64")
    )
    return {
        window.window: {a.name: _noise(window, a, b) for a, b in zip(rough, exact, strict=True)}
        for (window, rough), (_, exact) in zip(*runs, strict=True)
    }


def _noise(window: ObservedWindow, rough: Moved, exact: Moved) -> float:
    before = window.before[exact.name].astype(np.float64)
    off = np.abs(rough.weight.astype(np.float64) - exact.weight)
    room = rounding_room(before, exact.weight)
    return ratio(norm(np.maximum(off - room, 0.0)), norm(exact.weight - before))


def still(windows: Windows) -> Iterator[tuple[int, str, str]]:
    """Yield window, tensor and words for every weight that changed although it must not."""
    for before, window in zip((None, *windows), windows, strict=False):
        number = window.window
        adjacent = before is not None and before.window == number - 1
        for name, array in window.before.items():
            left = before.after[name] if before is not None and adjacent else array
            if not same(left, array):
                yield (
                    number,
                    name,
                    "began with weights that differ from those after the previous window",
                )
            elif window.row.skipped and not same(array, window.after[name]):
                yield number, name, "was skipped and changed weights"
            elif _without_gradient(window, name) and not same(array, window.after[name]):
                yield number, name, "changed a weight without a gradient"


def _without_gradient(window: ObservedWindow, name: str) -> bool:
    source = window.applied or window.total
    return bool(source) and not window.row.skipped and name not in source


def same(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are equal in every entry, nan included."""
    return np.array_equal(array, other, equal_nan=True)
