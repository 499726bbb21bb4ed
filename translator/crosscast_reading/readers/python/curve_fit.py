"""Find the schedule of a recipe that a learning rate follows, from its values alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from crosscast.plan.operations import Schedule
from crosscast.plan.schedule import learning_rate
from crosscast_reading.pysource.values.budget import NoValueError

Rate = Callable[[int], float]
_SAMPLES = 50
_NEAR = 1e-6
_MOST_LIMITS = 24
_OVERSHOOT = 0.05
"""By how much a warm-up by hand may miss the rate at its end."""
_FEW_VALUES = 12
_SHAPES = ("linear", "cosine", "polynomial")
_FAR = (2, 5, 20, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The shape of a learning rate over the steps of a run."""

    name: str
    """A word of the vocabulary."""
    peak: float
    warmup: int = 0
    start: float = 0.0
    """The first rate of the warm-up as a share of the highest."""
    late: bool = False
    """Whether the fall begins one step after the warm-up has reached the highest rate."""
    ahead: bool = False
    """Whether it counts from 1, also in the fall."""
    hold: int = 0
    """Steps at the highest rate between the warm-up and the fall, where that is no recipe's."""
    total: int | None = None
    end: float | None = None
    power: float = 1.0
    decay_from: str = "warmup_end"
    rises: bool = False
    """Whether it first rises in another way than a recipe's warm-up."""


def fit(rate: Rate, limits: Iterable[float]) -> Curve | None:
    """Return the curve of a rate; None if its values cannot be computed or say nothing.

    Args:
        rate: from the number of the step to the rate; raises `NoValueError` after the last step.
        limits: numbers of steps at which it may change its course.
    """
    lengths = sorted({round(number) for number in limits if 1 < number < 1e7})[:_MOST_LIMITS]
    steps = list(_sampled(lengths))
    values: dict[int, float] = {}
    for step in steps:
        try:
            values[step] = rate(step)
        except NoValueError:
            break
    if len(values) < 4 or not all(map(math.isfinite, values.values())):
        return None
    if max(values.values()) <= 0:
        return None
    return _curve(_Memory(rate, values), lengths)


class _Memory(dict[int, float]):
    """A rate by its step: what was computed is kept."""

    def __init__(self, rate: Rate, values: Mapping[int, float]) -> None:
        super().__init__(values)
        self._rate = rate

    def __missing__(self, step: int) -> float:
        """Compute the rate of a step; after the end it is no number, and equal to none."""
        try:
            self[step] = self._rate(step)
        except NoValueError:
            return math.nan
        return self[step]

    def from_step(self, first: int) -> _Memory:
        """Return the rates that follow a step."""
        return _Memory(lambda step: self._rate(first + step), {})

    def known(self) -> list[tuple[int, float]]:
        """Return the steps computed so far, and their rates."""
        return sorted(self.items())


def _sampled(lengths: list[int]) -> Iterator[int]:
    """Yield about fifty steps, in order: the first ones, those around limits, and even ones."""
    last = max(round(lengths[-1] * 1.2) + 3, 60) if lengths else 200
    near = {length + shift for length in lengths for shift in (-1, 0, 1, 2)}
    even = {round(last * place / _SAMPLES) for place in range(_SAMPLES + 1)}
    yield from sorted(near | even | set(range(5)))


def _curve(rate: _Memory, lengths: list[int]) -> Curve | None:
    known = rate.known()
    highest = max(value for _, value in known)
    if all(_equal(value, highest, highest) for _, value in known):
        return Curve(name="constant", peak=highest) if _stays(rate, highest) else None
    warmups = list(_warmups(rate, highest, lengths))
    for warm in warmups:
        curve = _after(warm, rate, lengths)
        if curve is not None:
            return curve
    return _other(rate, warmups[0], highest)


def _warmups(rate: _Memory, highest: float, lengths: list[int]) -> Iterator[Curve]:
    """Yield the courses that the first steps may have: without a warm-up, or with one."""
    first, second = rate[0], rate[1]
    if not second > first * (1 + _NEAR):
        yield Curve(name="", peak=first)
        return
    slope = second - first

    def is_straight(step: int) -> bool:
        return _equal(rate[step], first + slope * step, highest)

    last = _last_true(is_straight, 1, rate.known()[-1][0])
    for length in sorted((last, last + 1), key=lambda length: length not in lengths):
        for reached in (last, last + 1):
            peak = first + slope * reached
            late = reached < length
            yield Curve(name="", peak=peak, warmup=length, start=first / peak, late=late)


def _last_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last step for which something holds that holds up to a step."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _after(warm: Curve, rate: _Memory, lengths: list[int]) -> Curve | None:
    """Return the curve that begins like this; None if what follows is no schedule of a recipe."""
    later = [(step, value) for step, value in rate.known() if step >= warm.warmup]
    if len(later) < 3:
        return None
    if all(_equal(value, warm.peak, warm.peak) for _, value in later):
        return replace(warm, name="constant") if _stays(rate, warm.peak) else None
    root = replace(warm, name="inverse_sqrt", total=10**9)
    for ahead in (0, 1):  # it often counts from 1
        if warm.warmup and _follows(root, [(step + ahead, value) for step, value in later]):
            return replace(root, total=None, late=warm.late and not ahead, ahead=ahead > 0)
    for ends in _ends(lengths, _stop(rate)):
        falls = [
            curve
            for total in ends
            for start in (("warmup_end", "start") if warm.warmup else ("warmup_end",))
            for curve in _falls(replace(warm, total=total, decay_from=start), rate, later)
        ]
        if falls:
            return max(falls, key=lambda curve: _rank(curve, rate, lengths))
    return _held(warm, rate, lengths)


def _stays(rate: _Memory, highest: float) -> bool:
    """Whether a rate is the same long after all limits."""
    last = rate.known()[-1][0]
    return not any(_differs(rate[last * times], highest, highest) for times in _FAR)


def _stop(rate: _Memory) -> int:
    """Return the step from which a rate does not change; 0 if it changes until the last one."""
    known = rate.known()
    final = known[-1][1]
    before = [step for step, value in known if _differs(value, final, abs(final))] or [0]
    if before[-1] == known[-2][0]:
        return 0

    def is_before(step: int) -> bool:
        return _differs(rate[step], final, abs(final))

    return _last_true(is_before, before[-1], known[-1][0]) + 1


def _ends(lengths: list[int], stop: int = 0) -> Iterator[list[int]]:
    """Yield the steps at which a fall may end, the more likely ones first."""
    near = {length + shift for length in (*lengths, stop) for shift in (-1, 0, 1)}
    sums = {first + second for first in lengths for second in lengths} - near
    for steps in (near, sums):
        yield sorted(steps)


def _falls(curve: Curve, rate: _Memory, later: list[tuple[int, float]]) -> Iterator[Curve]:
    """Yield the falls to the end of a curve that its rates follow."""
    total = curve.total
    assert total is not None
    inside = [(step, value) for step, value in later if step < total]
    if len(inside) < 3 or math.isnan(rate[total - 1]):
        return
    begin = curve.warmup if curve.decay_from == "warmup_end" else 0
    final = rate[total]
    for name in _SHAPES:
        power = 1.0
        ended = math.isnan(final)
        end = _end(name, begin, total, curve.peak, inside) if ended else final
        if end >= curve.peak * (1 - _NEAR):
            continue
        if name == "polynomial":
            fitted = _power(begin, total, curve.peak, end, inside)
            if fitted is None:
                continue
            power = fitted
        candidate = replace(curve, name=name, end=max(0.0, end), power=power)
        if _follows(candidate, inside):
            yield candidate


def _end(name: str, begin: int, total: int, peak: float, inside: list[tuple[int, float]]) -> float:
    """Return the last rate of a fall that stops just before it, which is straight or a cosine."""
    step, value = inside[-1]
    progress = (step - begin) / (total - begin)
    left = 0.5 * (1 + math.cos(math.pi * progress)) if name == "cosine" else 1 - progress
    end = (value - peak * left) / (1 - left)
    return 0.0 if abs(end) < _NEAR * peak else end


def _power(
    begin: int, total: int, peak: float, end: float, inside: list[tuple[int, float]]
) -> float | None:
    step, value = inside[len(inside) // 2]
    left = 1 - (step - begin) / (total - begin)
    share = (value - end) / (peak - end)
    if not 0 < share < 1:
        return None
    return round(math.log(share) / math.log(left), 6)


def _follows(curve: Curve, values: list[tuple[int, float]]) -> bool:
    """Whether rates are those that a recipe with this schedule has."""
    op = Schedule(
        name=curve.name,  # type: ignore[arg-type]
        learning_rate=curve.peak,
        end_lr=curve.end or 0.0,
        warmup_steps=curve.warmup,
        total_steps=curve.total or 1,
        tick="update",
        power=curve.power,
        decay_from=curve.decay_from,  # type: ignore[arg-type]
    )
    return all(_equal(value, learning_rate(op, step), curve.peak) for step, value in values)


def _rank(curve: Curve, rate: _Memory, lengths: list[int]) -> tuple[bool, bool, bool, int]:
    """Prefer an end at which the rate stops, one without a rest, and a number of the source.

    A straight fall looks the same for every end and its last rate.
    """
    total = curve.total or 0
    last, after = rate[total], rate[total + 3]
    stops = not _differs(last, after, curve.peak)
    return stops, not curve.end, total in lengths, -_SHAPES.index(curve.name) * 10**8 + total


def _held(warm: Curve, rate: _Memory, lengths: list[int]) -> Curve | None:
    """Return a curve that stays at the highest rate for a while and then falls."""

    def is_highest(step: int) -> bool:
        return _equal(rate[step], warm.peak, warm.peak)

    last = _last_true(is_highest, warm.warmup, rate.known()[-1][0])
    if last <= warm.warmup + 1:
        return None
    moved = rate.from_step(last)
    shorter = [length - last for length in lengths if length > last + 1]
    for step in (0, *(round(s * max(shorter, default=0) / 12) for s in range(1, 13))):
        moved[step]
    after = moved.known()
    for total in next(_ends(shorter)):
        start = Curve(name="", peak=warm.peak, total=total)
        for fall in _falls(start, moved, after):
            hold = last - warm.warmup
            return replace(fall, warmup=warm.warmup, start=warm.start, hold=hold, total=None)
    return None


def _other(rate: _Memory, warm: Curve, highest: float) -> Curve:
    """Return a curve that no recipe has: falls in steps, exponential ones, anything else."""
    later = [(step, value) for step, value in rate.known() if step >= warm.warmup]
    curve = replace(warm, name="custom", peak=highest)
    reached = math.isclose(warm.peak, highest, rel_tol=_OVERSHOOT)
    if warm.warmup and (not reached or warm.warmup >= rate.known()[-1][0]):
        curve = replace(curve, warmup=0, start=0.0, late=False, rises=True)
    values: list[float] = []
    for _, value in later:
        if not values or not _equal(value, values[-1], highest):
            values.append(value)
    if len(values) < 2 or any(second > first for first, second in itertools.pairwise(values)):
        return curve
    if len(values) <= _FEW_VALUES < len(later):
        return replace(curve, name=_steps(rate, later, highest) or "custom")
    return replace(curve, name="exponential") if _is_exponential(later) else curve


def _steps(rate: _Memory, later: list[tuple[int, float]], highest: float) -> str | None:
    """Return `step` if a rate falls by one factor at even distances, else `step_custom`; None if it
    falls too slowly to have steps."""
    pairs = itertools.pairwise(later)
    falls = (pair for pair in pairs if not _equal(pair[0][1], pair[1][1], highest))
    first = next(falls, None)
    if first is None:
        return None
    (begin, before), (end, after) = first

    def is_before(step: int) -> bool:
        return _equal(rate[step], before, highest)

    every = _last_true(is_before, begin, end) + 1
    share = after / before
    for drop in range(1, 4):
        for step, value in ((every * drop - 1, share ** (drop - 1)), (every * drop, share**drop)):
            if _differs(rate[step], before * value, highest):
                return "step_custom"
    return "step"


def _is_exponential(later: list[tuple[int, float]]) -> bool:
    falls = [
        math.log(second / first) / (b - a)
        for (a, first), (b, second) in itertools.pairwise(later)
        if min(first, second) > 0
    ]
    return math.isclose(min(falls, default=0), max(falls, default=1), rel_tol=1e-3)


def _equal(first: float, second: float, scale: float) -> bool:
    return abs(first - second) <= _NEAR * scale


def _differs(first: float, second: float, scale: float) -> bool:
    return abs(first - second) > _NEAR * scale
