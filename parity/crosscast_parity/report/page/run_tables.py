"""Programs with their versions, runs, and the outcome of failed runs."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast_parity.checks.check import number
from crosscast_parity.judge.records import Entrant, ParityReport, Run, StageRecord
from crosscast_parity.report.page.blocks import Block, Cell, Log, Table, Text, cells, joined
from crosscast_parity.report.page.evidence import COLUMNS, row_texts

LAST_ROWS = 5
MANY_RUNS = 24
SHOWN_CRASHES = 6
"""Endings that are shown with their log; of the others only the message."""


def environment_table(report: ParityReport) -> Table:
    """Return the programs, what ran them, and how they computed in half precision."""
    half = any(stage.dtype != "float32" for stage in report.stages)
    return Table(
        title="Programs and versions",
        note="The hash covers the main script and its model; a path denotes a custom script.",
        head=("program", "target", "framework", "recipe", "script", "half", "device", "versions"),
        rows=[
            (
                *cells(entrant.name, entrant.target, entrant.framework, entrant.recipe),
                Cell(entrant.script, code=True),
                *cells(entrant.execution if half else "not used", entrant.device),
                Cell(_versions(entrant)),
            )
            for entrant in report.entrants
        ],
    )


def _versions(entrant: Entrant) -> str:
    return ", ".join(f"{name} {version}" for name, version in entrant.versions.items())


def stage_table(report: ParityReport) -> Table:
    """Return the stages with their sizes, noise and horizon."""
    return Table(
        title="Stages",
        note="Trajectories are compared up to the horizon; after it, a change of 1e-7 in the "
        "weights changes the reference itself too much.",
        head=("stage", "what", "type", "weights", "windows", "seed", "twins", "horizon", "faults"),
        rows=[_stage(stage) for stage in report.stages],
    )


def _stage(stage: StageRecord) -> tuple[Cell, ...]:
    envelope = stage.envelope
    return cells(
        stage.name,
        stage.title,
        stage.dtype,
        f"{stage.weights:,}",
        str(stage.windows),
        "" if stage.seed is None else str(stage.seed),
        str(envelope.twins) if envelope else "",
        str(envelope.horizon) if envelope else "",
        ", ".join(stage.faults),
    )


def run_table(report: ParityReport) -> Table:
    """Return every run, folded if they are many."""
    return Table(
        title=f"Runs ({len(report.runs)})",
        note="cached: from an earlier comparison with the same files, data, weights and versions",
        head=("program", "run", "windows", "skipped", "eval loss", "accuracy", "seconds", "end"),
        rows=[
            (
                *cells(run.contestant, f"{run.stage}/{run.name}", str(len(run.rows))),
                *cells(str(sum(row.skipped for row in run.rows)), *_evaluation(run)),
                *cells(f"{run.outcome.seconds:.1f}" + (" (cached)" if run.cached else "")),
                Cell(run.outcome.kind, "good" if run.outcome.complete else "bad"),
            )
            for run in report.runs
        ],
        folded=len(report.runs) > MANY_RUNS,
    )


def _evaluation(run: Run) -> tuple[str, str]:
    result = run.outcome.status.eval if run.outcome.status else None
    if result is None:
        return ("", "")
    accuracy = "not finite" if result.accuracy is None else f"{result.accuracy:.4f}"
    return (number(result.loss), accuracy)


def crash_blocks(report: ParityReport) -> list[Block]:
    """Return, for each run that came to no end: message, last rows, end of its log.

    Runs of a program that ended for the same reason are shown once.
    """
    alike: dict[tuple[str, str, str], list[Run]] = {}
    for run in report.runs:
        if not run.outcome.complete:
            reason = (run.contestant, run.outcome.kind, run.outcome.message)
            alike.setdefault(reason, []).append(run)
    blocks: list[Block] = []
    for place, runs in enumerate(alike.values()):
        names = ", ".join(f"{run.stage}/{run.name}" for run in runs[1:])
        also = f" (also: {names})" if names else ""
        blocks.append(Text(text=f"{runs[0].title}: {ending(runs[0])}{also}", tone="bad"))
        if place < SHOWN_CRASHES:
            blocks += _traces_of(runs[0])
    return blocks


def _traces_of(run: Run) -> list[Block]:
    blocks: list[Block] = [_last_rows(run)] if run.rows else []
    if run.outcome.log_tail:
        blocks.append(Log(title=f"Last output of {run.title}", text=run.outcome.log_tail))
    elif run.outcome.kind != "cannot_run":
        blocks.append(Text(text="There was no output.", tone="soft"))
    return blocks


def ending(run: Run) -> str:
    """Return in words how a run ended."""
    outcome = run.outcome
    code = "" if outcome.exit_code is None else f"exit code {outcome.exit_code}"
    last = f"last window {run.rows[-1].window}" if run.rows else "no window finished"
    return joined((f"{outcome.kind}: {outcome.message or 'no message'}", code, last), between="; ")


def _last_rows(run: Run) -> Table:
    rows: Sequence[tuple[str, ...]] = [
        (str(row.window), *row_texts(row)) for row in run.rows[-LAST_ROWS:]
    ]
    return Table(
        title=f"Last rows of the trace of {run.title}",
        head=("window", *COLUMNS),
        rows=[cells(*row) for row in rows],
    )
