"""Find the schedule that gives the rates of a run, with as few other fields as possible."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Schedule
from crosscast.plan.schedule import learning_rate
from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import relative
from crosscast_parity.levels.machine import LR_LIMIT
from crosscast_parity.reading.changes import alike, put, value_of
from crosscast_parity.recordings.trace import TraceRow

FALLING = ("linear", "cosine", "polynomial")
NAMES = ("constant", *FALLING, "inverse_sqrt")
LONGEST = 10_000_000
"""Steps of a schedule at most."""
FREE = 1e-3
"""What another value costs in a field that no source says."""
SHARES = (0.1, 0.01, 0.001)
"""Of the rate, at the end of a schedule."""


@dataclass(frozen=True, slots=True)
class Course:
    """The rates of a run. `updates`: before each attempt."""

    rates: tuple[float, ...]
    updates: tuple[int, ...]

    def fits(self, schedule: Schedule) -> bool:
        """Whether a schedule has these rates."""
        ticks = range(len(self.rates)) if schedule.tick == "attempt" else self.updates
        pairs = list(zip(self.rates, ticks, strict=True))
        return all(
            relative(rate, learning_rate(schedule, tick)) <= LR_LIMIT
            for rate, tick in (pairs[-1], *pairs)
        )


def course_of(rows: Sequence[TraceRow]) -> Course:
    """Return the rates of a trace."""
    return Course(
        tuple(row.lr for row in rows), tuple(row.updates - (not row.skipped) for row in rows)
    )


def fitting(
    recipe: Recipe, rows: Sequence[TraceRow], free: Collection[str], hints: Sequence[float] = ()
) -> dict[str, Any] | None:
    """Return other values for fields of rate and schedule that give the rates of a run.

    None if there are none. Fields in `free` cost next to nothing, all others are changed only if
    there is no other way.

    Args:
        recipe: what is claimed.
        rows: the trace.
        free: fields that no source says.
        hints: rates that the program may start from.
    """
    course = course_of(rows)
    schedule = canonical_plan(recipe).find(Schedule)
    if schedule is None or not course.rates:
        return None
    own = {path: value_of(recipe, path) for path in FIELDS}
    tried = [
        (_cost(own, values, free, solved=solved), solved, values)
        for values in _candidates(schedule, course, hints)
        for solved in (False, True)
    ]
    for _, solved, values in sorted(tried, key=lambda entry: entry[:2]):
        for whole in _with_length(schedule, values, course, solved=solved):
            if course.fits(_schedule_with(schedule, whole)) and put(recipe, _changes(own, whole)):
                return _changes(own, whole)
    return None


LENGTH = "schedule.total_steps"
FIELDS = (
    "optimizer.learning_rate",
    *(
        f"schedule.{name}"
        for name in (
            *("name", "total_steps", "warmup_steps", "warmup_start_lr", "end_lr"),
            *("power", "decay_from", "tick"),
        )
    ),
)
Values = dict[str, Any]


def _cost(own: Values, values: Values, free: Collection[str], *, solved: bool) -> float:
    changed = [path for path in values if not alike(values[path], own[path])]
    changed += [LENGTH] * solved
    return sum(FREE if path in free else 1.0 for path in changed)


def _changes(own: Values, values: Values) -> Values:
    return {path: value for path, value in values.items() if not alike(value, own[path])}


def _schedule_with(schedule: Schedule, values: Values) -> Schedule:
    plain = {path.rpartition(".")[2]: value for path, value in values.items()}
    return Schedule(**{**{name: getattr(schedule, name) for name in plain}, **plain})


def _candidates(schedule: Schedule, course: Course, hints: Sequence[float]) -> Iterator[Values]:
    rates, peak = course.rates, max(course.rates)
    top = rates.index(peak)
    bases = _distinct(schedule.learning_rate, *hints, _short(peak), *_factored(schedule, course))
    warmups = {schedule.warmup_steps, 0, top, top + 1}
    first = rates[0]
    if rising := next((n for n, rate in enumerate(rates) if rate > first), 0):
        warmups |= {
            round((base - first) * rising / (rates[rising] - first))
            for base in bases
            if base > first
        }
    lowest = _distinct(schedule.end_lr, 0.0, _short(min(rates)), *(s * peak for s in SHARES))
    ticks = _distinct(schedule.tick, "update", "attempt")
    if course.updates == tuple(range(len(rates))):
        ticks = [schedule.tick]  # nothing was skipped
    for name, base, warmup, tick in product(NAMES, bases, sorted(warmups), ticks):
        falls = name in FALLING
        powers = _distinct(schedule.power, 2.0, 0.5, 1.0) if name == "polynomial" else []
        froms = _distinct(schedule.decay_from, "warmup_end", "start") if warmup and falls else []
        if name == "inverse_sqrt" and not warmup:
            continue
        begun = _short(first) if warmup else 0.0
        for end, power, start in product(
            lowest if falls else [schedule.end_lr],
            powers or [schedule.power],
            froms or [schedule.decay_from],
        ):
            yield dict(
                zip(
                    FIELDS,
                    (base, name, schedule.total_steps, warmup, begun, end, power, start, tick),
                    strict=True,
                )
            )


def _factored(schedule: Schedule, course: Course) -> list[float]:
    """Return the rate that makes the first rate of the claimed schedule that of the run."""
    for number, rate in enumerate(course.rates):
        claimed = learning_rate(schedule, number)
        if rate > 0 and claimed > 0:
            return [_short(schedule.learning_rate * rate / claimed)]
    return []


def _with_length(
    schedule: Schedule, values: Values, course: Course, *, solved: bool
) -> Iterator[Values]:
    """Yield values as they are, or with the length that makes the last rate right."""
    if not solved:
        length = max(values[LENGTH], values["schedule.warmup_steps"])
        yield {**values, LENGTH: length}
        return
    if values["schedule.name"] not in FALLING:
        return
    # The last rates of a run may be those after the end of a schedule: all longer ones differ.
    ticks = range(len(course.rates)) if values["schedule.tick"] == "attempt" else course.updates
    inside = [
        (rate, tick)
        for rate, tick in zip(course.rates, ticks, strict=True)
        if tick > values["schedule.warmup_steps"]
        and values["schedule.end_lr"] * (1 + LR_LIMIT) < rate
    ]
    if not inside:
        return
    rate, tick = inside[-1]
    low, high = values["schedule.warmup_steps"] + 1, LONGEST
    while low < high:  # the rate at a step grows with the length
        middle = (low + high) // 2
        formula = _schedule_with(schedule, {**values, LENGTH: middle})
        low, high = (middle + 1, high) if learning_rate(formula, tick) < rate else (low, middle)
    for total in (low, low - 1):
        if values["schedule.warmup_steps"] <= total < LONGEST:
            yield {**values, LENGTH: total}


def _short(value: float) -> float:
    """Return a number without the dust of float32."""
    return float(f"{value:.6g}")


def _distinct(*values: Any) -> list[Any]:
    return list(dict.fromkeys(values))
