"""What could explain the first window of the toy that differs: known mistakes, tried one by one.

Those of `levels.causes`, the recipes that differ from this one in one field, and mistakes that only
a run over many windows can show. Each must explain all that differs in the window, from the state
that the run had reached; of several the one counts that explains most of the later windows, too. A
hint for the reader, not a proof, as in `levels.causes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Normalize, Op, Plan, Schedule, UpdateScale, Zero
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import State, initial, step
from crosscast.variations.table import variations
from crosscast_parity.levels.causes import known_mistakes, listed
from crosscast_parity.toy.after import Differing, first_of, follow, when
from crosscast_parity.toy.bounds import WindowBounds, tensors
from crosscast_parity.toy.compare import (
    COUNTER,
    Arrays,
    Difference,
    Place,
    Report,
    Seen,
    before_window,
    differences_in,
)
from crosscast_parity.toy.model import ROLES, Toy
from crosscast_parity.toy.names import resolved
from crosscast_parity.toy.readings import Reading, readings
from crosscast_parity.toy.running import of_step

OF_THE_TOY = ("precision.", "accumulation.steps", "batch.")
"""Fields that decide what the toy is given and computes, not what a step makes of it."""
TRIED_FIRST, TRIED_LAST = 4, 2
"""Windows that differ in which an explanation of the first one is tried, too."""
MALFORMED = (ArithmeticError, DiagnosticError, LookupError, TypeError, ValueError)
"""What rows of a script can lead to, which may hold anything."""
SCALARS = ("lr", "scale", "skipped")
TOLD = frozenset({"lr", "grad_norm", "loss"})
"""Columns of the trace that a script may compute apart from what it does."""
Meant = Callable[[Place], Plan | None]
"""What a step would mean in a window, None if nothing."""


@dataclass(frozen=True)
class _Fit:
    """What an explanation leaves open in a window: tensors and columns that were right before."""

    tensors: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        return len(self.tensors) + len(self.columns)


@dataclass(frozen=True)
class _Mistake:
    """What could explain a window. `meant`: what a step means in it.

    `summed`: whether gradients that stay from the window before are the sums of its micro-batches;
    otherwise they are what the optimizer got, which some scripts compute in place.
    """

    words: str
    meant: Meant
    summed: bool = False


def likely_cause(recipe: Recipe, toy: Toy, seen: Seen, framework: str, report: Report) -> str:
    """Say which known mistake fits the first differing window of a run, and which windows differ.

    Args:
        recipe: that the run claims to follow.
        toy: what it was given.
        seen: what it made of it.
        framework: whose roundings of constants are allowed.
        report: of the comparison; empty words if nothing differs, or if a tensor is missing.
    """
    try:
        return _likely_cause(case_of(recipe, toy, seen, framework, report))
    except MALFORMED:
        return ""  # a hint must not hide that they differ


def _likely_cause(case: Case | None) -> str:
    if case is None:
        return ""
    course = follow(case.reading(case.plan), case.toy, case.seen, case.first.place)
    if not course.differing:
        return ""
    words, always = case.words(course.differing)
    return f"{words}{', ' if always else '; it differs '}{when(case.plan, case.seen, course)}"


def case_of(recipe: Recipe, toy: Toy, seen: Seen, framework: str, report: Report) -> Case | None:
    """Return the case of a run, arguments as of `likely_cause`; None if nothing differs."""
    if report.place is None:
        return None
    plan = resolved(canonical_plan(recipe), seen.names)
    reading = readings(plan, framework, seen)[report.place.rounded]
    first = first_of(reading, toy, report.place, report.differences)
    return Case(recipe, toy, seen, framework, plan, first)


@dataclass(frozen=True)
class Case:
    """A run that differs from its recipe."""

    recipe: Recipe
    toy: Toy
    seen: Seen
    framework: str
    plan: Plan
    first: Differing

    def reading(self, plan: Plan) -> Reading:
        """Return a plan with the roundings that the run follows up to the first difference.

        A plan whose betas no script rounds has one reading, whatever the run follows.
        """
        allowed = readings(plan, self.framework, self.seen)
        return allowed[min(self.first.place.rounded, len(allowed) - 1)]

    def explained_by(self, plan: Plan) -> bool:
        """Whether a plan explains all of the first window that differs, and leaves nothing."""
        meant = partial(_always, resolved(plan, self.seen.names))
        fit = self._fit(_Mistake("", meant), self.first)
        return fit is not None and not fit.size

    def words(self, differing: Sequence[Differing]) -> tuple[str, bool]:
        """Return which mistake fits, in words, and whether it fits the later windows, too."""
        first, *later = [*differing[:TRIED_FIRST], *differing[TRIED_FIRST:][-TRIED_LAST:]]
        plain = self._untouched(first) or self._uncounted(first)
        if plain:
            always = all(self._untouched(window) or self._uncounted(window) for window in later)
            return self._sentence(plain, always)
        best: tuple[tuple[int, int], str] | None = None
        for mistake in self._mistakes():
            fit = self._fit(mistake, first)
            if fit is None:
                continue
            missed = sum(self._fit(mistake, window) is None for window in later)
            if best is None or (missed, fit.size) < best[0]:
                best = (missed, fit.size), f"{mistake.words}{self._but(fit, first)}"
        return self._sentence(best[1], not best[0][0]) if best else ("no known mistake fits", False)

    def _sentence(self, words: str, always: bool) -> tuple[str, bool]:
        once = "" if always else f" in window {self.first.place.number}"
        return f"fits {words}{once}", always

    def _but(self, fit: _Fit, window: Differing) -> str:
        if fit.tensors:
            return f", only in {listed(_names(d.key for d in window.differences if d.key))}"
        if fit.columns:
            return f", but for {' and '.join(sorted(fit.columns))} in the trace"
        return ""

    def _untouched(self, window: Differing) -> str:
        """Say that what differs was left as it was, or was cleared."""
        number = window.place.number
        keys = [difference.key for difference in window.differences]
        if not all(keys):
            return ""
        before, after = before_window(self.toy, self.seen, number), self.seen.tensors[number]
        names = listed(_names(keys))
        if all(key in before and after[key].tobytes() == before[key].tobytes() for key in keys):
            return f"{names} at rest"
        return "" if any(after[key].any() for key in keys) else f"{names} set to zero"

    def _uncounted(self, window: Differing) -> str:
        """Say that an update is counted where there is none, or the other way round."""
        number = window.place.number
        if [difference.what for difference in window.differences] != ["updates"]:
            return ""
        counted = int(self.seen.rows[number]["updates"])
        before = int(self.seen.rows[number - 1]["updates"]) if number else 0
        skipped = bool(self.seen.rows[number]["skipped"])
        if counted - before != int(skipped):
            return ""
        return "an overflow counted as an update" if skipped else "an update that is not counted"

    def _mistakes(self) -> Iterator[_Mistake]:
        tried = [self.plan]
        for words, other in self._plans():
            other_plan = resolved(other, self.seen.names)
            if other_plan not in tried:
                tried.append(other_plan)
                yield _Mistake(words, partial(_always, other_plan))
        kept = tuple(op for op in self.plan.window if not isinstance(op, Zero))
        words = "gradients of the window before that were not cleared"
        for summed in (False, True):
            yield _Mistake(words, partial(_always, replace(self.plan, window=kept)), summed)
        words = "a schedule that goes on after its last step"
        yield _Mistake(words, partial(_unclamped, self.plan))

    def _plans(self) -> Iterator[tuple[str, Plan]]:
        yield from known_mistakes(canonical_plan(self.recipe))
        for variation in variations(self.recipe):
            if not variation.path.startswith(OF_THE_TOY):
                yield str(variation), canonical_plan(of_step(variation.recipe))

    def _fit(self, mistake: _Mistake, window: Differing) -> _Fit | None:
        """Return the fit of a mistake to a window; None if it does not explain all of it."""
        plan = mistake.meant(window.place)
        if plan is None:
            return None
        reading = self.reading(plan)
        if not _compares(reading.plan, window):
            return None
        state = self._state(reading.plan, window.place, summed=mistake.summed)
        if state is None:
            return None
        other = WindowBounds(
            reading.plan,
            self.toy,
            state,
            window.place.number,
            rounded_powers=reading.rounded_powers,
        )
        if not self._nearer(other, window):
            return None
        more = window.uncounted
        left = differences_in(other, self.toy, self.seen, Report(), uncounted=more)
        known = {_key(difference) for difference in window.differences}
        if known & {_key(difference) for difference in left}:
            return None
        columns = frozenset(difference.what for difference in left if not difference.key)
        if not columns <= TOLD:
            return None
        return _Fit(frozenset(difference.key for difference in left if difference.key), columns)

    def _state(self, plan: Plan, place: Place, *, summed: bool) -> State | None:
        """Return the state that a step of another meaning would have left: its scale, gradients.

        None if it has moments or averages of other kinds. `summed`: see `_Mistake`.
        """
        fresh, held = initial(plan, self.toy.parameters), place.state
        if fresh.moments.keys() != held.moments.keys() or bool(fresh.ema) != bool(held.ema):
            return None
        if _tick(plan) != _tick(self.plan):
            position = held.updates if _tick(plan) == "update" else place.number
            held = replace(held, position=position)
        if place.previous is None:
            return replace(held, scale=fresh.scale)
        work = self.toy.work(place.number - 1)
        after = step(plan, place.previous, work, ROLES)[0]
        left = step(replace(plan, window=()), place.previous, work, ROLES)[0] if summed else after
        return replace(held, scale=after.scale, gradients=left.gradients)

    def _nearer(self, other: WindowBounds, window: Differing) -> bool:
        """Whether a mistake fits better than the recipe; the full comparison is slower."""
        row, after = self.seen.rows[window.place.number], self.seen.tensors[window.place.number]
        theirs = tensors(other.single)
        if any(
            difference.what in SCALARS
            and row[difference.what] != getattr(other.single, difference.what)
            for difference in window.differences
        ):
            return False
        keys = [difference.key for difference in window.differences if difference.key]
        held = (after, theirs, window.expected)
        if not all(key in arrays for arrays in held for key in keys):
            return False
        if any(len({arrays[key].shape for arrays in held}) > 1 for key in keys):
            return False
        return _off(after, theirs, keys) <= _off(after, window.expected, keys)


def _off(arrays: Arrays, expected: Arrays, keys: Sequence[str]) -> float:
    with np.errstate(all="ignore"):
        return float(sum(np.abs(arrays[key] - expected[key]).sum() for key in keys))


def _compares(plan: Plan, window: Differing) -> bool:
    """Whether all that differs is compared under another plan; a static scale counts nothing."""
    machine, normalize = plan.find(UpdateScale), plan.find(Normalize)
    counts = machine is not None and machine.mode == "dynamic"
    tokens = normalize is not None and normalize.unit == "token"
    differing = [difference.what for difference in window.differences]
    counted = any(what.startswith(COUNTER) for what in differing)
    return (counts or not counted) and (tokens or "tokens" not in differing)


def _tick(plan: Plan) -> str:
    schedule = plan.find(Schedule)
    return schedule.tick if schedule else ""


def _key(difference: Difference) -> str:
    return difference.key or difference.what


def _names(keys: Iterator[str] | Sequence[str]) -> list[str]:
    """Return the parameters that tensors belong to; a moment by itself with its own name."""
    all_keys = set(keys)
    weights = {key.partition("/")[2] for key in all_keys if key.startswith("parameters/")}
    rest = {key for key in all_keys if key.partition("/")[2] not in weights}
    return sorted(weights | rest)


def _always(plan: Plan, place: Place) -> Plan:
    return plan


def _unclamped(plan: Plan, place: Place) -> Plan | None:
    """Return a plan with the rate that the schedule would have if its end did not hold it."""
    schedule = plan.find(Schedule)
    if schedule is None or place.state.position <= schedule.total_steps:
        return None
    rate = _beyond(schedule, place.state.position)
    if rate is None:
        return None

    def change(op: Op) -> Op:
        if not isinstance(op, Schedule):
            return op
        return replace(op, name="constant", learning_rate=rate, warmup_steps=0)

    return replace(plan, window=tuple(map(change, plan.window)))


def _beyond(op: Schedule, position: int) -> float | None:
    start = op.warmup_steps if op.decay_from == "warmup_end" else 0
    if op.total_steps <= start:
        return None
    progress = (position - start) / (op.total_steps - start)
    if op.name == "cosine":
        left = 0.5 * (1.0 + math.cos(math.pi * progress))
    elif op.name == "linear" or (op.name == "polynomial" and float(op.power).is_integer()):
        left = (1.0 - progress) ** (op.power if op.name == "polynomial" else 1.0)
    else:
        return None
    return op.end_lr + (op.learning_rate - op.end_lr) * left
