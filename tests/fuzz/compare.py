"""Holds what a worker saw of an emitted step against the reference, window by window.

Counts, scales and rates must be equal. Tensors are compared with *one* step of the reference that
starts from the tensors the emitted step itself had reached (`fuzz.bounds`), so that errors do not
add up over a run and the bound is one for a single step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crosscast.plan import Normalize, Plan, UpdateScale
from crosscast.reference import Row, State, initial
from fuzz.bounds import SLACK, ULP, Window, tensors
from fuzz.names import resolved
from fuzz.toy import Toy
from fuzz.variants import Variant, variants

EQUAL = ("window", "n_micro", "rows", "lr", "scale", "skipped", "updates")
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


@dataclass
class Report:
    """What differs, and how much of the bound was used at most."""

    problems: list[str] = field(default_factory=list)
    used: float = 0.0
    """Of the bound, where it needed the spread of the results."""
    reached: int = -1
    """The last window that was compared."""
    beyond: bool = False
    """Whether infinite gradients met no finite check; weights are not compared from there on."""
    undecided: bool = False
    """Whether one ulp of the inputs decides about a skip; nothing is compared after that."""


def compare(plan: Plan, toy: Toy, seen: Seen, framework: str) -> Report:
    """Hold what a worker saw against what a plan means."""
    if len(seen.rows) != len(toy.windows):
        return Report([f"{len(seen.rows)} rows for {len(toy.windows)} windows"])
    best = Report(["never"])
    for variant in variants(resolved(plan, seen.names), framework):
        report = _compare(variant, toy, seen)
        if not report.problems:
            return report
        best = report if report.reached > best.reached else best
    return best


def _compare(variant: Variant, toy: Toy, seen: Seen) -> Report:
    report, plan = Report(), variant.plan
    state = initial(plan, toy.parameters)
    before: Arrays = {f"parameters/{name}": array for name, array in toy.parameters.items()}
    for number, after in enumerate(seen.tensors):
        report.reached = number
        window = Window(plan, toy, state, number, rounded_powers=variant.rounded_powers)
        found = [
            *_counts(plan, window.single, seen.rows[number], seen.counters[number]),
            *_reported(window, seen.rows[number], report),
        ]
        if window.single.skipped:
            found += _moved(before, after, state)
        elif window.beyond:
            report.beyond = True
        else:
            found += _changed(window, after, report)
        if found:  # what follows would only repeat it
            report.undecided = window.undecided
            if not report.undecided:
                report.problems = [f"window {number}: {text}" for text in found]
            return report
        if report.beyond:
            return report
        state, before = _go_on(window.after, after), after
    return report


def _counts(
    plan: Plan, single: Row, row: Mapping[str, Any], counters: tuple[int | None, int | None]
) -> Iterator[str]:
    normalize, scale = plan.find(Normalize), plan.find(UpdateScale)
    tokens = ("tokens",) if normalize and normalize.unit == "token" else ()
    for key in (*EQUAL, *tokens):
        if row.get(key) != getattr(single, key):
            yield f"{key} is {row.get(key)!r}, not {getattr(single, key)!r}"
    if scale is not None and scale.mode == "dynamic":
        for name, found in zip(("good", "bad"), counters, strict=True):
            if found is not None and found != getattr(single, name):
                yield f"the scaler's counter {name} is {found}, not {getattr(single, name)}"


def _reported(window: Window, row: Mapping[str, Any], report: Report) -> Iterator[str]:
    """Compare loss and norm. After an overflow one framework says inf, another nan."""
    norm, exact = float(row["grad_norm"]), window.exact
    yield from _close(window, "grad_norm", np.array(norm), report)
    loss = float(row["loss"])
    if np.isfinite(exact.loss) != np.isfinite(loss):
        yield f"loss is {loss!r}, not {exact.loss!r}"
    # A sum of some hundred terms, in an order of the framework's own.
    elif np.isfinite(loss) and abs(loss - exact.loss) > 32 * ULP * window.loss_size:
        yield f"loss is {loss!r}, not {exact.loss!r} +- {32 * ULP * window.loss_size:.1e}"


def _moved(before: Arrays, after: Arrays, state: State) -> Iterator[str]:
    """A skipped window leaves every bit. Moments that appear with it are zero, averages are the
    weights."""
    for key, array in after.items():
        slot, _, name = key.partition("/")
        fresh = state.parameters[name] if slot == "ema" else np.zeros_like(array)
        if array.tobytes() != np.asarray(before.get(key, fresh)).tobytes():
            yield f"{key} moved in a skipped window"


def _changed(window: Window, after: Arrays, report: Report) -> Iterator[str]:
    expected = tensors(window.single)
    for key in sorted(after.keys() - expected.keys()):
        yield f"{key}: nobody needs it"
    for key in expected:
        if key not in after:
            yield f"{key}: missing"
        elif after[key].shape != expected[key].shape:
            yield f"{key} has the shape {after[key].shape}, not {expected[key].shape}"
        else:
            yield from _close(window, key, after[key], report)


def _close(window: Window, key: str, found: np.ndarray, report: Report) -> Iterator[str]:
    single, exact, bound = window.results(key)
    if not _wrong(found, single, exact, bound).any():
        return
    bound = bound + SLACK * window.spread(key)
    wrong = _wrong(found, single, exact, bound)
    if not wrong.any():
        with np.errstate(all="ignore"):
            report.used = max(report.used, float(np.nanmax(np.abs(found - exact) / bound)))
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"{key}{list(at)}" if at else key
    values = f"{float(found[at])!r}, not {float(exact[at])!r} +- {float(bound[at]):.1e}"
    yield f"{where} is {values} ({int(wrong.sum())} of {wrong.size})"


def _wrong(
    found: np.ndarray, single: np.ndarray, exact: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """Return where a number is off. Where float32 leaves its range, only that it does counts."""
    with np.errstate(all="ignore"):
        usual = np.isfinite(single) & np.isfinite(exact) & np.isfinite(bound)
        far = ~(np.abs(found - exact) <= bound)
        return np.asarray(np.where(usual, far, np.isfinite(found) != np.isfinite(single)))


def _go_on(after: State, held: Arrays) -> State:
    """Return the reference's counters with the tensors that the emitted step has reached."""

    def taken(slot: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: held.get(f"{slot}/{name}", array) for name, array in arrays.items()}

    return replace(
        after,
        parameters=taken("parameters", after.parameters),
        moments={slot: taken(slot, arrays) for slot, arrays in after.moments.items()},
        ema=taken("ema", after.ema),
    )
