"""The gate: a program that does not repeat itself cannot be compared step by step."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check, windows
from crosscast_parity.checks.kinds import Level
from crosscast_parity.inputs.weights import load
from crosscast_parity.levels.repeated import Repeated, Rounding, row_distance
from crosscast_parity.recordings.left_files import CHECKPOINT, WEIGHTS, read_file


def check_gate(first: Repeated, again: Repeated, rounding: Rounding) -> tuple[Check, ...]:
    """Compare two runs of one program, which must be equal but for rounding."""
    return (_traces(first, again, rounding), _weights(first, again, rounding))


def check_resumed(
    first: Repeated, again: Repeated, at: int, rounding: Rounding
) -> tuple[Check, ...]:
    """Compare a run with one that ended after `at` windows and was resumed.

    Until then they are two runs of one program, which is the gate. What differs only afterwards is
    not in the checkpoint, or is not restored.

    Args:
        first: the run that was not interrupted.
        again: the resumed one.
        at: how many windows it trained before it was resumed.
        rounding: what is no difference.
    """
    gate = _traces(_until(first, at), _until(again, at), rounding)
    if gate.result == "fail":
        words = "the program does not repeat itself"
        return (gate, Check(level="L1d", name="resume", result="not tested", wording=words))
    return (gate, _resumed(first, again, at, rounding))


def _until(run: Repeated, window: int) -> Repeated:
    return replace(run, rows=run.rows[:window])


def _resumed(first: Repeated, again: Repeated, at: int, rounding: Rounding) -> Check:
    problem = f"differs after a resume at window {at}"
    traces = _traces(first, again, rounding)
    if traces.result == "fail":
        words = f"window {traces.window}: {problem}"
        return replace(traces, level="L1d", name="resume", wording=words, value=math.inf, limit=1.0)
    assert traces.value is not None  # every trace has a distance
    used, other_bits = 0.0, traces.value > 0
    if other_bits:
        used = traces.value / rounding.computed
    files = sorted(
        {path.name for run in (first, again) for path in run.folder.glob("*.safetensors")}
    )
    alone = _decided(first.folder / CHECKPOINT, rounding)
    for name in files:
        share, words = _file_share(first.folder / name, again.folder / name, rounding, alone)
        if not share <= 1.0:
            return _judged("L1d", "resume", f"{name} {problem}: {words}", share, 1.0)
        used, other_bits = max(used, share), other_bits or bool(words)
    scope = f"{windows(len(first.rows))} and {len(files)} files, resumed at window {at}"
    words = f"rounding, {used:.2g} of its limits: not bit-equal in {scope}"
    return _judged("L1d", "resume", words if other_bits else f"bit-equal in {scope}", used, 1.0)


def _decided(checkpoint: Path, rounding: Rounding) -> Collection[str]:
    try:
        return rounding.decided_by_gradients(read_file(checkpoint)[0]) if rounding.allowed else ()
    except DiagnosticError:
        return ()  # the file is compared below


def _file_share(
    first: Path, again: Path, rounding: Rounding, alone: Collection[str]
) -> tuple[float, str]:
    """Return the largest difference between two files as a share of its limit, and how they differ.

    The words are empty for files that are bit-equal.
    """
    try:
        (ours, facts), (others, other_facts) = read_file(first), read_file(again)
        if facts != other_facts:
            return math.inf, f"{other_facts}, not {facts}"
        off = differing_tensors(ours, others)
        if not off:
            return 0.0, ""
        return rounding.used(ours, others, alone), f"{off[0]} ({len(off)} of {len(ours)} tensors)"
    except DiagnosticError as error:
        return math.inf, error.diagnostics[0].message


def _traces(first: Repeated, again: Repeated, rounding: Rounding) -> Check:
    pairs = list(zip(first.rows, again.rows, strict=False))
    distances = [row_distance(a, b) for a, b in pairs]
    if len(first.rows) != len(again.rows):
        distances.append(math.inf)
    limit = rounding.computed
    worst = max(distances, default=0.0)
    over = [window for window, distance in enumerate(distances) if not distance <= limit]
    if over:
        words = f"window {over[0]}: a second run of the same program gave a different row"
        return _judged("gate", "traces", words, worst, limit, over[0])
    words = f"bit-equal in {windows(len(pairs))}"
    if worst:
        words = f"rounding, {worst:.2g} (limit {limit:g}): not bit-equal in {windows(len(pairs))}"
    return _judged("gate", "traces", words, worst, limit)


def _weights(first: Repeated, again: Repeated, rounding: Rounding) -> Check:
    try:
        ours, others = (load(run.folder / WEIGHTS) for run in (first, again))
    except DiagnosticError as error:
        words = error.diagnostics[0].message
        return Check(level="gate", name="weights", result="not tested", wording=words)
    limit = rounding.moved
    off = differing_tensors(ours, others)
    if not off:
        return _judged("gate", "weights", f"{len(ours)} tensors bit-equal", 0.0, limit)
    used = rounding.used(ours, others)
    share = limit * used if limit else used
    words = f"{share:.2g} (limit {limit:g}): {off[0]} differs ({len(off)} of {len(ours)} tensors)"
    return _judged("gate", "weights", words, share, limit)


def _judged(
    level: Level, name: str, words: str, value: float, limit: float, window: int | None = None
) -> Check:
    return Check(
        level=level,
        name=name,
        result="pass" if value <= limit else "fail",
        wording=words,
        value=value,
        limit=limit,
        window=window,
    )


def differing_tensors(
    ours: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]
) -> list[str]:
    """Return the names of tensors that one side lacks, or that differ in a bit."""
    names = sorted(ours.keys() | others.keys())
    return [
        name
        for name in names
        if name not in ours or name not in others or not _bit_equal(ours[name], others[name])
    ]


def _bit_equal(array: np.ndarray, other: np.ndarray) -> bool:
    return array.shape == other.shape and array.tobytes() == other.tobytes()
