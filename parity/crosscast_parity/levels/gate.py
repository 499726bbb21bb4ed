"""The gate: a program that does not repeat itself cannot be compared step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check, windows
from crosscast_parity.checks.kinds import Level
from crosscast_parity.inputs.weights import load
from crosscast_parity.recordings.left_files import read_file
from crosscast_parity.recordings.trace import Row


def check_gate(
    first: Sequence[Row], again: Sequence[Row], weights: tuple[Path, Path]
) -> tuple[Check, ...]:
    """Compare two runs of one program that must be equal bit for bit.

    Args:
        first: trace of the one.
        again: trace of the other.
        weights: their final weights, safetensors.
    """
    return (_traces(first, again), _weights(*weights))


def check_resumed(
    first: Sequence[Row], again: Sequence[Row], at: int, folders: tuple[Path, Path]
) -> tuple[Check, ...]:
    """Compare a run with one that ended after `at` windows and was resumed, bit for bit.

    Until then they are two runs of one program, which is the gate. What differs only afterwards is
    not in the checkpoint, or is not restored.

    Args:
        first: trace of the one.
        again: trace of the resumed one.
        at: how many windows it trained before it was resumed.
        folders: of both, with the files that they leave.
    """
    gate = _traces(first[:at], again[:at])
    if gate.result == "fail":
        words = "the program does not repeat itself"
        return (gate, Check(level="L1d", name="resume", result="not tested", wording=words))
    traces = _traces(first, again, "L1d", "resume", f"differs after a resume at window {at}")
    if traces.result == "fail":
        return (gate, traces)
    files = sorted({path.name for folder in folders for path in folder.glob("*.safetensors")})
    for name in files:
        words = _differing(*(folder / name for folder in folders))
        if words:
            words = f"{name} differs after a resume at window {at}: {words}"
            return (gate, replace(traces, result="fail", wording=words, value=1))
    words = f"{traces.wording} and {len(files)} files, resumed at window {at}"
    return (gate, replace(traces, wording=words))


def _differing(first: Path, again: Path) -> str:
    """Return how two files differ, empty if they do not."""
    try:
        (ours, facts), (others, other_facts) = read_file(first), read_file(again)
    except DiagnosticError as error:
        return error.diagnostics[0].message
    off = differing_tensors(ours, others)
    if off:
        return f"{off[0]} ({len(off)} of {len(ours)} tensors)"
    return "" if facts == other_facts else f"{other_facts}, not {facts}"


def _traces(
    first: Sequence[Row],
    again: Sequence[Row],
    level: Level = "gate",
    name: str = "traces",
    problem: str = "a second run of the same program gave a different row",
) -> Check:
    pairs = list(zip(first, again, strict=False))
    differing = [a.window for a, b in pairs if a != b]
    if len(first) != len(again):
        differing.append(len(pairs))
    if not differing:
        words = f"bit-equal in {windows(len(pairs))}"
        return Check(level=level, name=name, result="pass", wording=words, value=0, limit=0)
    words = f"window {differing[0]}: {problem}"
    return Check(
        level=level,
        name=name,
        result="fail",
        wording=words,
        value=float(len(differing)),
        limit=0,
        window=differing[0],
    )


def _weights(first: Path, again: Path) -> Check:
    try:
        ours, others = load(first), load(again)
    except DiagnosticError as error:
        words = error.diagnostics[0].message
        return Check(level="gate", name="weights", result="not tested", wording=words)
    differing = differing_tensors(ours, others)
    if not differing:
        words = f"{len(ours)} tensors bit-equal"
        return Check(level="gate", name="weights", result="pass", wording=words, value=0, limit=0)
    words = f"{differing[0]} differs ({len(differing)} of {len(ours)} tensors)"
    return Check(
        level="gate",
        name="weights",
        result="fail",
        wording=words,
        value=float(len(differing)),
        limit=0,
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
