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
    """A window as planned: its scale, the position of its rate, whether it is to overflow.

    `good`, `bad`: counters of the scale before it. `updates`: so far. `stuck`: overflows in a row
    before it that could not lower the scale.
    """

    scale: float
    position: int
    skipped: bool
    good: int
    bad: int
    updates: int
    stuck: int


def planned_course(recipe: Recipe, windows: int, faults: Sequence[Fault]) -> list[PlannedWindow]:
    """Return the windows of a run, as the reference machine says with the planned overflows."""
    plan = canonical_plan(recipe)
    machine, schedule = plan.find(UpdateScale), plan.find(Schedule)
    state = loss_scale.initial(machine) if machine else loss_scale.ScaleState(1.0)
    by_attempt = schedule is not None and schedule.tick == "attempt"
    position, updates, stuck, course = 0, 0, 0, []
    for window, (n_micro, _) in enumerate(itertools.islice(_counts(recipe), windows)):
        met = any(fault.window == window and fault.place(n_micro) is not None for fault in faults)
        skipped = met and machine is not None
        now = PlannedWindow(state.scale, position, skipped, state.good, state.bad, updates, stuck)
        course.append(now)
        position += by_attempt or not skipped
        updates += not skipped
        if machine:
            stuck = stuck + 1 if skipped and loss_scale.is_lowest(machine, state.scale) else 0
            state = loss_scale.adjust(machine, state, not skipped)
    return course


def recorded_windows(
    recipe: Recipe,
    windows: int,
    faults: Sequence[Fault],
    most: int,
    *,
    moments: bool = True,
    resume: int = 0,
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
        resume: before which window the run is resumed; 0 for never.
    """
    most = min(most, windows)
    if most and not moments:
        return (*range(most - 1), windows - 1)
    chosen = {windows - 1, 0} if most > 1 else {windows - 1} if most else set()
    course = planned_course(recipe, windows, faults)
    for event in (*_resumed(course, resume), *_events(recipe, course)):
        wanted = chosen.union(event)
        if max(event) < windows and len(wanted) < most:
            chosen = wanted
    while len(chosen) < most:
        chosen.add(max(range(windows), key=lambda w: min(abs(w - other) for other in chosen)))
    return tuple(sorted(chosen))


def resume_window(recipe: Recipe, windows: int, faults: Sequence[Fault]) -> int:
    """Return before which window a run with overflows is resumed; 0 if none is planned.

    Where most of its state is not what a run begins with: fewer updates than windows, another
    scale, a count of overflows. The count of overflows at the lowest scale shows if another
    follows, and can be made 1 after a skipped window (`inside.continuity`): then no good window is
    counted, but some are where the run of the gate is resumed.
    """
    course = planned_course(recipe, windows, faults)

    def worth(window: int) -> int:
        now = course[window]
        return (
            8 * (now.scale != course[0].scale)
            + 4 * bool(now.stuck and now.skipped)
            + 4 * bool(now.bad)
            + 2 * (not now.good)
            + bool(now.updates)
        )

    late = [window for window, now in enumerate(course) if now.updates < window]
    return max(late, key=worth, default=0)


def _resumed(course: Sequence[PlannedWindow], resume: int) -> Iterator[tuple[int, ...]]:
    """Yield the windows around a resume, and the first update after it."""
    if resume:
        yield (resume - 1, resume)
        yield from [(n,) for n, now in enumerate(course) if n >= resume and not now.skipped][:1]


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
