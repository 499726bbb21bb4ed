"""What a run on the toy does after the first window that differs: which windows do, and when.

Every window is compared with the reference from where the run itself has come to: its tensors, its
scale and its counts. So a window differs only if something is done otherwise in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crosscast.plan import loss_scale
from crosscast.plan.operations import Plan, Schedule, UpdateScale
from crosscast.reference.interpreter import State
from crosscast_parity.checks.check import windows
from crosscast_parity.toy.bounds import WindowBounds, tensors
from crosscast_parity.toy.compare import (
    Arrays,
    Difference,
    Place,
    Report,
    Seen,
    differences_in,
    go_on,
)
from crosscast_parity.toy.model import Toy
from crosscast_parity.toy.readings import Reading

ENOUGH = 24
"""Updates in a row that differ, after which all later ones are said to."""
SHORT = "short window"
RARE = 5
"""How often an event has happened at most if it may have to do with what differs."""
MOST = 0.8
"""Share of windows that is called all of them: a gradient may be zero, and show nothing."""


@dataclass(frozen=True)
class Differing:
    """A window that differs, from where the run has come to.

    `expected`: the tensors of the reference after it. `uncounted`: see `differences_in`.
    """

    place: Place
    differences: Sequence[Difference]
    expected: Arrays
    uncounted: int = 0


@dataclass(frozen=True)
class Course:
    """The windows of a run that differ.

    `reached`: the last that was compared. `steady`: from which one on all updates differ, `ENOUGH`
    of them; None if there is none.
    """

    differing: Sequence[Differing]
    reached: int
    steady: int | None = None


def first_of(
    reading: Reading, toy: Toy, place: Place, differences: Sequence[Difference]
) -> Differing:
    """Return the first window that differs, as a comparison has found it."""
    return Differing(place, differences, tensors(_window(reading, toy, place).single))


def follow(reading: Reading, toy: Toy, seen: Seen, first: Place) -> Course:
    """Compare all windows from the first on that differs."""
    differing: list[Differing] = []
    in_a_row: list[int] = []
    reached = first.number
    for window in _windows(reading, toy, seen, first):
        reached = window.place.number
        if window.differences:
            differing.append(window)
        if not seen.rows[reached]["skipped"]:
            in_a_row = [*in_a_row, reached] if window.differences else []
        if len(in_a_row) >= ENOUGH:
            return Course(differing, reached, steady=in_a_row[0])
    return Course(differing, reached)


def _windows(reading: Reading, toy: Toy, seen: Seen, first: Place) -> Iterator[Differing]:
    place, uncounted, report = first, 0, Report()
    by_update = _by_update(reading.plan)
    for number in range(first.number, len(seen.tensors)):
        window = _window(reading, toy, place)
        differences = differences_in(window, toy, seen, report, uncounted=uncounted)
        if differences and uncounted:  # corrections of the bias may follow what the trace counts
            counted = replace(place, state=_counting(place.state, uncounted))
            again = _window(reading, toy, counted)
            if not (other := differences_in(again, toy, seen, report)):
                place, window, differences, uncounted = counted, again, other, 0
        scale = [difference for difference in differences if difference.what == "scale"]
        if scale:
            place = replace(place, state=_scaled(place.state, float(seen.rows[number]["scale"])))
            window = _window(reading, toy, place)
            differences = scale + differences_in(window, toy, seen, report, uncounted=uncounted)
        if report.beyond or not _intact(window, seen):
            return
        if any(difference.what == "skipped" for difference in differences) and window.undecided:
            differences = []
        yield Differing(place, differences, tensors(window.single), uncounted)
        updates = int(seen.rows[number]["updates"])
        uncounted = updates - window.after.updates
        state = _counted(go_on(window.after, seen.tensors[number]), seen.counters[number])
        if by_update:
            state = replace(state, position=updates)
        place = Place(number + 1, state, place.state, place.rounded)


def _window(reading: Reading, toy: Toy, place: Place) -> WindowBounds:
    powers = reading.rounded_powers
    return WindowBounds(reading.plan, toy, place.state, place.number, rounded_powers=powers)


def _by_update(plan: Plan) -> bool:
    schedule = plan.find(Schedule)
    return schedule is not None and schedule.tick == "update"


def _counting(state: State, more: int) -> State:
    return replace(state, updates=state.updates + more)


def _scaled(state: State, scale: float) -> State:
    return replace(state, scale=replace(state.scale, scale=scale))


def _counted(state: State, counters: tuple[int | None, int | None]) -> State:
    """Return the state with the counters of the script's own scaler, where it tells them."""
    known = {k: n for k, n in zip(("good", "bad"), counters, strict=True) if n is not None}
    return replace(state, scale=replace(state.scale, **known))


def _intact(window: WindowBounds, seen: Seen) -> bool:
    """Whether a window left the tensors that it should, whatever is in them.

    Before the first update some may not be there yet.
    """
    wanted, held = tensors(window.after), seen.tensors[window.number]
    complete = (
        held.keys() <= wanted.keys() if window.single.skipped else held.keys() == wanted.keys()
    )
    return complete and all(array.shape == wanted[key].shape for key, array in held.items())


def when(plan: Plan, seen: Seen, course: Course) -> str:
    """Say in which windows a run differs, and what happens in them."""
    numbers = [window.place.number for window in course.differing]
    first, last = numbers[0], len(seen.rows) - 1
    # The scale of a window is what the one before has made of it.
    late = int(any(difference.what == "scale" for difference in course.differing[0].differences))
    events = _events(plan, seen)
    if numbers == [first]:
        if course.reached < last:
            return f"in window {first}"
        named = _event_name(events, first - late, "")
        return "only in the last window" if first == last else f"only in window {first}{named}"
    for event, happens in events.items():
        later = {n + late for n in happens if first <= n + late <= course.reached}
        if set(numbers) <= later and len(numbers) >= MOST * len(later):
            return f"in every {event} from window {first} on"
    updates = sum(not row["skipped"] for row in seen.rows[first : course.reached + 1])
    if len(numbers) >= MOST * updates:
        return f"from window {first} on{_event_name(events, first - 1, 'after ')}"
    if course.steady is not None:
        before = sum(number < course.steady for number in numbers)
        return f"in {windows(before)} from window {first} on, from window {course.steady} on in all"
    return f"in {len(numbers)} windows from window {first} on"


def _event_name(events: Mapping[str, list[int]], number: int, after: str) -> str:
    """Return the rarest event of the scale in a window, if it is rare: `, the 4th overflow`."""
    for event, happens in events.items():
        if event != SHORT and number in happens[:RARE]:
            return f", {after}the {_ordinal(happens.index(number) + 1)} {event}"
    return ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"


def _events(plan: Plan, seen: Seen) -> Mapping[str, list[int]]:
    """Return the windows of everything that does not happen in all of them, the rarest first."""
    machine = plan.find(UpdateScale)
    by_event: dict[str, list[int]] = {}
    full = max(row["rows"] for row in seen.rows)
    state = loss_scale.initial(machine) if machine else loss_scale.ScaleState(1.0)
    for number, row in enumerate(seen.rows):
        skipped = bool(row["skipped"])
        if machine:
            after = loss_scale.adjust(machine, state, not skipped)
            lowered = state.scale * machine.backoff_factor < machine.min_scale
            if skipped and lowered and after.scale == machine.min_scale:
                by_event.setdefault("overflow at the lowest scale", []).append(number)
            if after.scale > state.scale:
                by_event.setdefault("growth of the scale", []).append(number)
            state = after
        if skipped:
            by_event.setdefault("overflow", []).append(number)
        if row["rows"] < full:
            by_event.setdefault(SHORT, []).append(number)
    return dict(sorted(by_event.items(), key=lambda event: len(event[1])))
