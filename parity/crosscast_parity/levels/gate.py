"""The gate: a program that does not repeat itself cannot be compared step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check, windows
from crosscast_parity.inputs.weights import load
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


def _traces(first: Sequence[Row], again: Sequence[Row]) -> Check:
    pairs = list(zip(first, again, strict=False))
    differing = [a.window for a, b in pairs if a != b]
    if len(first) != len(again):
        differing.append(len(pairs))
    if not differing:
        words = f"bit-equal in {windows(len(pairs))}"
        return Check(level="gate", name="traces", result="pass", wording=words, value=0, limit=0)
    words = f"window {differing[0]}: a second run of the same program gave a different row"
    return Check(
        level="gate",
        name="traces",
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
        if name not in ours or name not in others or ours[name].tobytes() != others[name].tobytes()
    ]
