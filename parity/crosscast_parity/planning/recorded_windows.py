"""Which windows of a long run are recorded: those next to events of its course, and spread ones.

The course is what the recipe and the planned overflows make of the schedule, the loss scale and the
epochs. Unplanned overflows are not known before the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Schedule, UpdateScale
from crosscast.recipe.document import Recipe
from crosscast_parity.inside.inject import Fault
from crosscast_parity.recipes.window_rows import expected_counts

UNKNOWN_ROWS = 2**31
"""For data in a file: no epoch ends within a run, as far as the recipe tells."""


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    """A window as planned: its scale, the position of its rate, whether it is to overflow."""

    scale: float
    position: int
    skipped: bool


def planned_course(recipe: Recipe, windows: int, faults: Sequence[Fault]) -> list[PlannedWindow]:
    """Return the windows of a run, as the reference machine says with the planned overflows."""
    plan = canonical_plan(recipe)
    machine, schedule = plan.find(UpdateScale), plan.find(Schedule)
    state = loss_scale.initial(machine) if machine else loss_scale.ScaleState(1.0)
    by_attempt = schedule is not None and schedule.tick == "attempt"
    position, found = 0, []
    for window, (n_micro, _) in enumerate(itertools.islice(_counts(recipe), windows)):
        met = any(fault.window == window and fault.place(n_micro) is not None for fault in faults)
        skipped = met and machine is not None
        found.append(PlannedWindow(state.scale, position, skipped))
        position += by_attempt or not skipped
        if machine:
            state = loss_scale.adjust(machine, state, not skipped)
    return found


def recorded_windows(
    recipe: Recipe, windows: int, faults: Sequence[Fault], most: int, *, moments: bool = True
) -> tuple[int, ...]:
    """Return which windows of a run to record, in their order; `most` of them, if it has so many.

    The last one always, then the first, then those next to events, as many as leave room for one
    that is not. The others are spread: each lies as far as possible from all that are chosen.

    Args:
        recipe: of the run.
        windows: of the run.
        faults: overflows that are planned for it.
        most: how many windows to record.
        moments: whether the program exposes them. If not, they are known only without a gap from
            the first window on, so that all but the last one are the first ones.
    """
    most = min(most, windows)
    if most and not moments:
        return (*range(most - 1), windows - 1)
    chosen = {windows - 1, 0} if most > 1 else {windows - 1} if most else set()
    for event in _events(recipe, planned_course(recipe, windows, faults)):
        wanted = chosen.union(event)
        if max(event) < windows and len(wanted) < most:
            chosen = wanted
    while len(chosen) < most:
        chosen.add(max(range(windows), key=lambda w: min(abs(w - other) for other in chosen)))
    return tuple(sorted(chosen))


def _events(recipe: Recipe, course: Sequence[PlannedWindow]) -> Iterator[tuple[int, ...]]:
    """Yield the windows that belong to each event, what shows most first."""
    pairs = [(n, a, b) for n, (a, b) in enumerate(itertools.pairwise(course), start=1)]
    growths = [(n,) for n, before, window in pairs if window.scale > before.scale]
    # What a skipped window must not move shows in the update after it, if both are recorded; the
    # later the better, for the first one may have a rate of 0.
    skips = [(n - 1, n) for n, before, window in pairs if before.skipped and not window.skipped]
    yield from skips[-1:]
    yield from growths[:1]
    yield from ((window,) for window in _epoch_change(recipe))
    schedule = recipe.schedule
    updates = [(n, window.position) for n, window in enumerate(course) if not window.skipped]
    if schedule.warmup_steps:
        yield from ((n,) for n, position in updates if position == schedule.warmup_steps)
    yield from [(n,) for n, before, window in pairs if window.scale < before.scale][:1]
    yield from growths[-1:]
    yield from ((n,) for n, position in updates if position == schedule.total_steps - 1)


def _epoch_change(recipe: Recipe) -> tuple[int, ...]:
    """The short window at the end of the first epoch, if there is one, and the window after it."""
    second = -(-_train_rows(recipe) // recipe.batch.global_batch_size)
    return (second - 1, second)


def _counts(recipe: Recipe) -> Iterator[tuple[int, int]]:
    return expected_counts(recipe, _train_rows(recipe))


def _train_rows(recipe: Recipe) -> int:
    rows: int = getattr(recipe.data, "train_rows", UNKNOWN_ROWS)
    return rows
