"""Level L1d: the files that a run leaves, against what was recorded of its last window."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.loss_scale import is_lowest
from crosscast.plan.operations import Plan, UpdateScale
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check, relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.gate import differing_tensors
from crosscast_parity.levels.machine import SCALE_LIMIT, scale_after
from crosscast_parity.levels.recompute import (
    LOST_SQUARE,
    Optimizer,
    chains,
    norm,
    ratio,
    replays,
    with_moments,
)
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors, untested, which
from crosscast_parity.levels.updates import choose_source
from crosscast_parity.recordings.left_files import (
    AVERAGES,
    CHECKPOINT,
    WEIGHTS,
    Checkpoint,
    read_checkpoint,
    read_tensors,
)
from crosscast_parity.recordings.observations import ObservedWindow
from crosscast_parity.recordings.trace import TraceRow

Tensors = Mapping[str, np.ndarray]
Windows = Sequence[ObservedWindow]


def check_files(
    folder: Path, rows: Sequence[TraceRow], seen: Windows, counters: Collection[str] = ()
) -> Iterator[Check]:
    """Check weights and averages of a finished run against its last window, bit for bit.

    Nothing is said of a run whose last window was not recorded. `counters`: tensors that only
    count, which are whole numbers in the files.
    """
    if not seen or seen[-1].window != len(rows) - 1:
        return
    last = seen[-1]
    after = {name: last.after[name] for name in last.after if name not in counters}
    yield _check_tensors(folder / WEIGHTS, "weights", after, last)
    if last.average:
        yield _check_tensors(folder / AVERAGES, "averages", {**after, **last.average}, last)


def _check_tensors(path: Path, content: str, wanted: Tensors, last: ObservedWindow) -> Check:
    try:
        stored = read_tensors(path)
    except DiagnosticError as error:
        return _judged(f"{content} file", error.diagnostics[0].message)
    off = differing_tensors(stored, wanted)
    if not off:
        words = f"{len(stored)} tensors bit-equal to those after window {last.window}"
        return _judged(f"{content} file", "", words)
    cause = _cause(stored, wanted, last, off)
    words = f"{path.name}: {off[0]} is not the one after window {last.window}"
    return _judged(f"{content} file", f"{words}; {which(off, wanted)}{cause}")


def _cause(stored: Tensors, wanted: Tensors, last: ObservedWindow, off: Sequence[str]) -> str:
    """Return the content that the file has instead, if that is known."""
    known: dict[str, Callable[[str], np.ndarray | None]] = {
        "the averages": last.average.get,
        "the weights": last.after.get,
        "the weights of the window before": last.before.get,
        "transposed": lambda name: wanted[name].T,
        "rounded to float16": lambda name: round_to(wanted[name], "float16"),
        "rounded to bfloat16": lambda name: round_to(wanted[name], "bfloat16"),
    }
    for words, instead in known.items():
        arrays = {name: instead(name) if name in wanted else None for name in off}
        if all(
            array is not None and name in stored and np.array_equal(stored[name], array)
            for name, array in arrays.items()
        ):
            return f": {words}"
    return ""


def check_checkpoint(
    folder: Path, plan: Plan, rows: Sequence[TraceRow], seen: Windows
) -> Iterator[Check]:
    """Check the checkpoint at the end of a run: weights, averages, moments and counters.

    Args:
        folder: of the run.
        plan: of its recipe.
        rows: its trace.
        seen: its recorded windows; moments are checked if the last one is among them.
    """
    try:
        checkpoint = read_checkpoint(folder / CHECKPOINT)
        weights = read_tensors(folder / WEIGHTS)
        averages = read_tensors(folder / AVERAGES) if checkpoint.averages else {}
    except DiagnosticError as error:
        yield _judged("checkpoint", error.diagnostics[0].message)
        return
    averages = {name: averages[name] for name in checkpoint.averages if name in averages}
    for content, ours, file in (
        ("weights", checkpoint.weights, weights),
        ("averages", checkpoint.averages, averages),
    ):
        off = differing_tensors(ours, file)
        yield _judged(
            f"checkpoint {content}",
            f"{off[0]} is not that of the file of {content}; {which(off, file)}" if off else "",
        )
    yield _counters(checkpoint, plan, rows)
    known = with_moments(plan, seen)
    if known and known[-1].window == len(rows) - 1:
        yield check_moments(checkpoint, plan, chains(known)[-1])


def _counters(checkpoint: Checkpoint, plan: Plan, rows: Sequence[TraceRow]) -> Check:
    problem, names = wrong_counter(checkpoint.counters, plan, rows), expected_counters(plan, rows)
    return _judged("checkpoint counters", problem, f"{', '.join(names)} as the recipe says")


def wrong_counter(counters: Mapping[str, Any], plan: Plan, rows: Sequence[TraceRow]) -> str:
    """Say which counter of a checkpoint is not the recipe's after the rows; empty for none."""
    for name, value in expected_counters(plan, rows).items():
        counter = counters.get(name)
        plain = isinstance(counter, int | float) and not isinstance(counter, bool)
        if not plain or relative(counter, value) > SCALE_LIMIT:
            return f"{name} is {counter!r}, not {value:g}"
    return ""


def expected_counters(plan: Plan, rows: Sequence[TraceRow]) -> dict[str, float]:
    """Return the counters that a checkpoint after the rows holds.

    `stuck`: how many windows in a row, up to the last one, overflowed at the lowest scale.
    """
    wanted: dict[str, float] = {"windows": len(rows), "updates": rows[-1].updates if rows else 0}
    state, machine = scale_after(plan, rows), plan.find(UpdateScale)
    if state is not None and machine is not None:
        wanted |= {"scale": state.scale, "good": state.good, "bad": state.bad}
        stuck = takewhile(lambda r: r.skipped and is_lowest(machine, r.scale), reversed(rows))
        wanted["stuck"] = len(list(stuck))
    return wanted


def check_status(rows: Sequence[TraceRow], windows: int | None, updates: int | None) -> Check:
    """Check what a run says of its windows and updates, None for nothing, against its trace."""
    wanted = {"windows": len(rows), "updates": rows[-1].updates if rows else 0}
    stated = {"windows": windows, "updates": updates}
    counts = {name: count for name, count in stated.items() if count is not None}
    if not counts:
        return untested("L1d", "status counters", "status.json tells none")
    wrong = [
        f"{n} is {count}, not {wanted[n]}" for n, count in counts.items() if count != wanted[n]
    ]
    words = f"{', '.join(counts)} as in the trace"
    return _judged("status counters", f"in status.json {wrong[0]}" if wrong else "", words)


def check_moments(checkpoint: Checkpoint, plan: Plan, seen: Windows) -> Check:
    """Check the moments against those that the gradients of windows without a gap make."""
    name, source = "checkpoint moments", choose_source(seen)
    if all(window.row.skipped for window in seen):
        source = "applied"  # there are none, and nothing has moved
    if source is None:
        return untested("L1d", name, "the gradients were not recorded")
    roles = seen[0].roles
    checks = []
    for origin in dict.fromkeys((source, "total" if seen[0].total else source)):
        optimizer = Optimizer(plan, roles)
        for _, moved in replays(plan, roles, seen, origin, optimizer):
            for _ in moved:
                pass
        errors = [
            TensorError(seen[-1].window, moment, _distance(checkpoint.moments.get(moment), array))
            for moment, array in optimizer.held().items()
        ]
        checks.append(
            judge_tensors("L1d", name, errors, limit_of("L1d", name), nothing="there are none")
        )
        if checks[-1].result != "fail":
            return checks[-1]
    return checks[0]


def _distance(stored: np.ndarray | None, wanted: np.ndarray) -> float:
    if stored is None or stored.shape != wanted.shape:
        return float("inf")
    # Squares of small gradients vanish in float32.
    return ratio(norm(np.maximum(np.abs(stored - wanted) - LOST_SQUARE, 0.0)), norm(wanted))


def _judged(name: str, problem: str, words: str = "bit-equal") -> Check:
    return Check(
        level="L1d",
        name=name,
        result="fail" if problem else "pass",
        wording=problem or words,
        value=float(bool(problem)),
        limit=0,
    )
