"""Holds what a worker saw of an emitted step against the reference, window by window.

Counts, scales and rates must be equal. Tensors are compared with *one* step of the reference that
starts from the tensors the emitted step itself had reached (`toy.bounds`), so that errors do not
add up over a run and the bound is one for a single step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crosscast.plan.operations import Normalize, Plan, UpdateScale
from crosscast.reference.interpreter import State, initial
from crosscast_parity.checks.kinds import Level
from crosscast_parity.toy.bounds import SLACK, ULP, WindowBounds, tensors
from crosscast_parity.toy.model import Toy
from crosscast_parity.toy.names import resolved
from crosscast_parity.toy.readings import Reading, readings

EQUAL = ("window", "n_micro", "rows", "lr", "scale", "skipped", "updates")
COUNTER = "the scaler's counter"
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Seen:
    """What a worker saw: trace rows, counters and tensors after every window."""

    rows: list[dict[str, Any]]
    counters: list[tuple[int | None, int | None]]
    tensors: Sequence[Arrays]
    """By `slot/parameter`, one mapping a window."""
    names: Mapping[str, str]
    """What the framework calls the parameters of the toy."""
    float32_betas: bool = False
    """Whether optimizers hold the betas in float32 where it ran, if not everywhere."""


@dataclass(frozen=True)
class Difference:
    """One thing that a step did otherwise than the reference.

    `level`: L0b for counts, rate and scale, L1b for loss, norm and tensors.
    """

    level: Level
    window: int
    what: str
    got: str
    expected: str
    key: str = ""
    """Of a tensor: `slot/parameter`."""

    def __str__(self) -> str:
        return f"window {self.window}: {self.what} is {self.got}, expected {self.expected}"


@dataclass(frozen=True)
class Place:
    """Where a run has come to: the reference before one of its windows.

    `state` has the tensors that the run itself had reached, `previous` those of a window before;
    None before the first. `rounded`: which of the `readings` of a plan it follows.
    """

    number: int
    state: State
    previous: State | None
    rounded: int


@dataclass
class Report:
    """What differs, and how much of the bound was used at most."""

    differences: list[Difference] = field(default_factory=list)
    """Of the first window in which anything differs."""
    used: float = 0.0
    """Of the bound, where it needed the spread of the results."""
    reached: int = -1
    """The last window that was compared."""
    beyond: bool = False
    """Whether infinite gradients met no finite check; weights are not compared from there on."""
    undecided: bool = False
    """Whether one ulp of the inputs decides about a skip; nothing is compared after that."""
    place: Place | None = None
    """Of the first window in which anything differs."""

    @property
    def problems(self) -> list[str]:
        """The differences in words."""
        return list(map(str, self.differences))


def compare(plan: Plan, toy: Toy, seen: Seen, framework: str) -> Report:
    """Compare a worker's observations with the meaning of a plan.

    Args:
        plan: what the recipe of the step means.
        toy: what the step was given.
        seen: what it made of it.
        framework: whose roundings of constants are allowed, see `toy.readings`.
    """
    if len(seen.rows) != len(toy.windows):
        counts = str(len(seen.rows)), str(len(toy.windows))
        return Report([Difference("L0b", len(seen.rows), "the number of rows", *counts)])
    reports = []
    for number, reading in enumerate(readings(resolved(plan, seen.names), framework, seen)):
        reports.append(_compare(reading, toy, seen, number))
        if not reports[-1].differences:
            return reports[-1]
    return max(reports, key=lambda report: report.reached)


def _compare(reading: Reading, toy: Toy, seen: Seen, rounded: int) -> Report:
    report, plan = Report(), reading.plan
    state, previous = initial(plan, toy.parameters), None
    for number, after in enumerate(seen.tensors):
        report.reached = number
        window = WindowBounds(plan, toy, state, number, rounded_powers=reading.rounded_powers)
        differences = differences_in(window, toy, seen, report)
        if differences:  # what follows would only repeat it
            report.undecided = window.undecided
            if not report.undecided:
                report.differences = differences
                report.place = Place(number, state, previous, rounded)
            return report
        if report.beyond:
            return report
        state, previous = go_on(window.after, after), state
    return report


def differences_in(
    window: WindowBounds, toy: Toy, seen: Seen, report: Report, *, uncounted: int = 0
) -> list[Difference]:
    """Compare one window of a run with the reference.

    Args:
        window: of the reference, from the state in which the run began it.
        toy: that the run trained.
        seen: of the whole run.
        report: gets how much of the bound was used, and whether gradients are `beyond` it.
        uncounted: updates that the trace counts on top of those of the state.
    """
    row, after = seen.rows[window.number], seen.tensors[window.number]
    if uncounted:
        row = {**row, "updates": row["updates"] - uncounted}
    differences = [
        *_counts(window, row, seen.counters[window.number]),
        *_reported(window, row, report),
    ]
    if window.single.skipped:
        differences += _moved(window, before_window(toy, seen, window.number), after)
    elif window.beyond:
        report.beyond = True
    else:
        differences += _changed(window, after, report)
    return differences


def before_window(toy: Toy, seen: Seen, number: int) -> Arrays:
    """Return the tensors before a window, by `slot/parameter`; before the first, the weights."""
    if number:
        return seen.tensors[number - 1]
    return {f"parameters/{name}": array for name, array in toy.parameters.items()}


def _counts(
    window: WindowBounds, row: Mapping[str, Any], counters: tuple[int | None, int | None]
) -> Iterator[Difference]:
    plan, single = window.plan, window.single
    normalize, scale = plan.find(Normalize), plan.find(UpdateScale)
    tokens = ("tokens",) if normalize and normalize.unit == "token" else ()
    pairs = [(key, row.get(key), getattr(single, key)) for key in (*EQUAL, *tokens)]
    if scale is not None and scale.mode == "dynamic":
        for name, recorded in zip(("good", "bad"), counters, strict=True):
            if recorded is not None:
                pairs.append((f"{COUNTER} {name}", recorded, getattr(single, name)))
    for what, recorded, wanted in pairs:
        if recorded != wanted:
            yield Difference("L0b", window.number, what, repr(recorded), repr(wanted))


def _reported(window: WindowBounds, row: Mapping[str, Any], report: Report) -> Iterator[Difference]:
    """Compare loss and norm. After an overflow one framework says inf, another nan."""
    norm, exact = float(row["grad_norm"]), window.exact_loss
    yield from _close(window, "grad_norm", np.array(norm), report)
    loss = float(row["loss"])
    # A sum of some hundred terms, in an order of the framework's own.
    bound = 32 * ULP * window.loss_size
    if np.isfinite(exact) != np.isfinite(loss):
        yield Difference("L1b", window.number, "loss", repr(loss), repr(exact))
    elif np.isfinite(loss) and abs(loss - exact) > bound:
        wanted = f"{exact!r} +- {bound:.1e}"
        yield Difference("L1b", window.number, "loss", repr(loss), wanted)


def _moved(window: WindowBounds, before: Arrays, after: Arrays) -> Iterator[Difference]:
    """A skipped window leaves every bit. Moments that appear with it are zero, averages are the
    weights."""
    for key, array in after.items():
        slot, _, name = key.partition("/")
        fresh = window.state.parameters[name] if slot == "ema" else np.zeros_like(array)
        held = np.asarray(before.get(key, fresh))
        if array.tobytes() != held.tobytes():
            what = f"{key} after a skip"
            yield Difference("L1b", window.number, what, "moved", "its previous value", key)


def _changed(window: WindowBounds, after: Arrays, report: Report) -> Iterator[Difference]:
    expected = tensors(window.single)
    for key in sorted(after.keys() - expected.keys()):
        yield Difference("L1b", window.number, key, "there", "nothing with that name", key)
    for key in expected:
        if key not in after:
            yield Difference("L1b", window.number, key, "missing", "a tensor", key)
        elif after[key].shape != expected[key].shape:
            shapes = str(after[key].shape), str(expected[key].shape)
            yield Difference("L1b", window.number, f"the shape of {key}", *shapes, key)
        else:
            yield from _close(window, key, after[key], report)


def _close(
    window: WindowBounds, key: str, array: np.ndarray, report: Report
) -> Iterator[Difference]:
    if window.is_single(key, array):
        return
    single, exact, bound = window.results(key)
    if not _wrong(array, single, exact, bound).any():
        return
    bound = bound + SLACK * window.spread(key)
    wrong = _wrong(array, single, exact, bound)
    if not wrong.any():
        with np.errstate(all="ignore"):
            report.used = max(report.used, float(np.nanmax(np.abs(array - exact) / bound)))
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"{key}{list(at)}" if at else key
    wanted = f"{float(exact[at])!r} +- {float(bound[at]):.1e}"
    if wrong.size > 1:
        wanted += f" ({int(wrong.sum())} of {wrong.size} are off)"
    tensor = key if "/" in key else ""
    yield Difference("L1b", window.number, where, repr(float(array[at])), wanted, tensor)


def _wrong(
    array: np.ndarray, single: np.ndarray, exact: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """Return where a number is off. Where float32 leaves its range, only that it does counts."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(single) & np.isfinite(exact) & np.isfinite(bound)
        far = ~(np.abs(array - exact) <= bound)
        return np.asarray(np.where(finite, far, np.isfinite(array) != np.isfinite(single)))


def go_on(after: State, held: Arrays) -> State:
    """Return the reference's counters with the tensors that the emitted step has reached."""

    def taken(slot: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: held.get(f"{slot}/{name}", array) for name, array in arrays.items()}

    return replace(
        after,
        parameters=taken("parameters", after.parameters),
        moments={slot: taken(slot, arrays) for slot, arrays in after.moments.items()},
        ema=taken("ema", after.ema),
    )
