"""The points of a run: what its trace and its status say, by window and by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.emit.scalar_names import EVAL_PREFIX, TRAIN_SCALARS
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span, failure

if TYPE_CHECKING:
    from crosscast.tracking.places import Place
    from crosscast_parity.recordings.status import Evaluation, Status
    from crosscast_parity.recordings.trace import TraceRow

STATUS = "status.json"


@dataclass(frozen=True, slots=True)
class Point:
    """Numbers of one step of a run, by name. `step`: the number of the window, from 1."""

    step: int
    values: Mapping[str, int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """A run as its files tell it."""

    name: str
    trace: Path
    windows: int
    updates: int
    time: float
    """When the trace was last changed, in seconds since 1970; a trace holds no times."""
    facts: Mapping[str, str | int]
    """How the run ended and what it ran on, from status.json; empty without one."""
    points: tuple[Point, ...]
    notes: tuple[Diagnostic, ...] = ()


def read_run(name: str, place: Place) -> TracedRun:
    """Read a run.

    A trace that ends within a line, as that of a killed run may, is read up to its last full line.

    Raises:
        DiagnosticError: CC701 with the line that is no row, CC716 if there is no row.
    """
    from crosscast_parity.recordings.trace import read_trace

    shown = str(place.trace)
    rows = read_trace(place.trace, partial=True, gaps=True, shown=shown)
    notes = list(_cut(place.trace, len(rows)))
    if not rows:
        raise DiagnosticError(*notes, *failure("CC716", f"{shown}: no row").diagnostics)
    for number, (before, row) in enumerate(zip((None, *rows), rows, strict=False), start=1):
        least = before.updates if before else 0
        if not least <= row.updates <= row.window + 1:
            words = f"`updates` is {row.updates}, expected {least} to {row.window + 1}"
            raise DiagnosticError(
                Diagnostic(code="CC701", message=words, span=Span(shown, number, 1))
            )
    status = None
    if place.trace.with_name(STATUS).exists():
        status = _status(place.trace.with_name(STATUS), notes)
    points = [_point(row) for row in rows]
    if status is not None and status.eval is not None:
        points.append(Point(rows[-1].window + 1, dict(_evaluated(status.eval))))
    return TracedRun(
        name=name,
        trace=place.trace,
        windows=rows[-1].window + 1,
        updates=rows[-1].updates,
        time=place.trace.stat().st_mtime,
        facts={} if status is None else dict(_facts(status)),
        points=tuple(points),
        notes=tuple(notes),
    )


def _cut(trace: Path, rows: int) -> Iterator[Diagnostic]:
    if not trace.is_file():  # a pipe would be waited for
        return
    with trace.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        if size and stream.read(1) != b"\n":
            yield Diagnostic(
                code="CC715",
                message="the last line is cut off and is left out",
                severity=Severity.NOTE,
                span=Span(str(trace), rows + 1, 1),
            )


def _status(path: Path, notes: list[Diagnostic]) -> Status | None:
    from crosscast_parity.recordings.status import read_status

    try:
        return read_status(path)
    except DiagnosticError as error:
        message = f"{error.diagnostics[0].message}; exported without it"
        notes.append(
            Diagnostic(
                code=error.diagnostics[0].code,
                message=message,
                severity=Severity.WARNING,
                span=Span(str(path), 1, 1),
            )
        )
        return None


def _point(row: TraceRow) -> Point:
    values: dict[str, int | float] = {}
    for key, name in TRAIN_SCALARS.items():
        value = getattr(row, key)
        if value is not None and not (key == "grad_norm" and row.skipped):
            values[name] = int(value) if isinstance(value, bool) else value
    return Point(row.window + 1, values)


def _evaluated(evaluation: Evaluation, prefix: str = EVAL_PREFIX) -> Iterator[tuple[str, float]]:
    for name, value in {
        "loss": evaluation.loss,
        "accuracy": evaluation.accuracy,
        **evaluation.metrics,
    }.items():
        if value is not None:
            yield f"{prefix}{name}", value
    if evaluation.averages is not None:
        yield from _evaluated(evaluation.averages, f"{prefix}ema_")


def _facts(status: Status) -> Iterator[tuple[str, str | int]]:
    yield "status", status.status
    if status.message:
        yield "message", status.message
    if status.device:
        yield "device", status.device
    for name, version in status.versions.items():
        yield f"versions/{name}", version
