"""Run a user's program and keep what a reading of it is held against."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.reading.evidence import Evidence, ProgramRun
from crosscast_parity.recordings.observations import ObservedWindow, read_observation
from crosscast_parity.side_by_side.running import (
    STOOD_IN,
    Keep,
    Limits,
    Program,
    Ran,
    stand_in_for,
)
from crosscast_parity.side_by_side.running import run as run_program

MOST_BYTES = 128 << 20
"""Of whole tensors that are kept of a run."""
MOST_WINDOWS = 8
"""Updates that are computed again, under every recipe that is tried."""
POISONED = 2
"""The attempt, from 0, whose gradients overflow in the run with an overflow."""
AFTER_POISON = 4
"""Attempts of that run: the skipped one, and some that show scale and rate afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What came of the runs. `ran`: the first one; its problem is that of the program."""

    ran: Ran
    evidence: Evidence
    notes: tuple[str, ...] = ()


def observe(
    program: Program, limits: Limits, *, on_run: Callable[[str], None] = lambda name: None
) -> Observed:
    """Run a program once, and where it scales its loss once more with an overflow.

    Args:
        program: what is run.
        limits: of every run.
        on_run: called with a name when a run begins.
    """
    on_run("program")
    first, windows = _run(program, limits, None)
    notes: list[str] = []
    folder = stand_in_for(program.framework, first)
    if folder is not None:
        package = folder.name
        on_run(f"program, with a stand-in for {package}")
        program = replace(program, stand_ins=(folder,))
        first, windows = _run(program, limits, None)
        notes.append(STOOD_IN.format(package=package))
    runs = [ProgramRun(name="its run", recording=first.recording, windows=windows)]
    if not first.problem and first.recording.scaled:
        at = min(POISONED, len(first.recording.attempts) - 1)
        on_run("program, with an overflow")
        few = replace(limits, updates=min(at + AFTER_POISON, limits.updates))
        second, _ = _run(program, few, at)
        if second.problem or not any(attempt.skipped for attempt in second.recording.attempts):
            why = second.problem or "it does not skip the update"
            notes.append(f"skipping was not exercised: with an overflow injected: {why}")
        else:
            name = "its run with an overflow"
            # What an overflow changes shows in scales, rates and skips.
            runs.append(ProgramRun(name=name, recording=second.recording))
    missing = first.recording.facts.get("windows_need")
    if missing:
        notes.append(f"updates were not computed again: {program.python} has no {missing}")
    facts = first.recording.facts
    notes += facts.get("notes", ())
    updates = len(first.recording.updates)
    if updates and "unseen" in facts:
        notes.append(f"the run was observed for {updates} updates: {facts['unseen']}")
    return Observed(ran=first, evidence=Evidence(program_runs=tuple(runs)), notes=tuple(notes))


def _run(
    program: Program, limits: Limits, poison: int | None
) -> tuple[Ran, tuple[ObservedWindow, ...]]:
    with tempfile.TemporaryDirectory(prefix="crosscast-", ignore_cleanup_errors=True) as name:
        folder = Path(name) / "windows"
        keep = Keep(folder=folder, most=MOST_BYTES)
        ran = run_program(program, limits, poison=poison, keep=keep)
        try:
            windows = read_observation(folder).windows if folder.is_dir() else ()
        except DiagnosticError as error:
            words = "; ".join(diagnostic.message for diagnostic in error.diagnostics)
            return replace(ran, problem=ran.problem or f"its records are damaged: {words}"), ()
        return ran, tuple(map(_in_memory, windows[:MOST_WINDOWS]))


def _in_memory(window: ObservedWindow) -> ObservedWindow:
    return replace(
        window,
        first={},
        before=dict(window.before),
        after=dict(window.after),
        total=dict(window.total),
        applied=dict(window.applied),
    )
