"""The trace.jsonl of an emitted script: one validated row per window."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Span
from crosscast_parity.recordings.files import open_plain, parse_json

MAX_LINE = 4096
MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One window of a run. `loss` and `grad_norm` are None where they were not finite."""

    window: int
    n_micro: int
    rows: int
    loss: float | None
    lr: float
    grad_norm: float | None
    scale: float
    skipped: bool
    updates: int
    peak_memory: int | None = None
    """Most bytes that tensors held on the device so far; None where it does not tell."""
    tokens: int | None = field(default=None, compare=False)
    """Labels that count; for exports only, comparisons recompute what depends on it."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data, as a script would write it, without `tokens`."""
        data = asdict(self)
        del data["tokens"]
        if self.peak_memory is None:
            del data["peak_memory"]
        return data


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row stands, for diagnostics."""

    file: str
    line: int
    text: str

    def refuse(self, problem: str) -> NoReturn:
        raise DiagnosticError(
            Diagnostic(
                code="CC701",
                message=problem,
                span=Span(self.file, self.line, 1, text=self.text[:200]),
                hint="A trace holds one JSON object per window, windows counted from 0.",
            )
        )


def read_trace(
    path: Path, *, partial: bool = False, gaps: bool = False, shown: str = ""
) -> tuple[TraceRow, ...]:
    """Read a trace.

    Args:
        path: the JSON-lines file.
        partial: the run did not end by itself: a missing file is an empty trace and a broken
            last line is left out.
        gaps: the run may have lost rows and been resumed: windows only have to rise.
        shown: name of the file in messages; without it, the last part of the path.

    Raises:
        DiagnosticError: CC701 with file and line for the first row that breaks the contract.
    """
    rows: list[TraceRow] = []
    try:
        with open_plain(path) as stream:
            for number in range(1, MAX_ROWS + 2):
                raw = stream.readline(MAX_LINE + 1)
                if not raw or (partial and not raw.endswith(b"\n")):
                    return tuple(rows)
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                place = _Place(shown or path.name, number, text)
                row = _row(place, raw)
                expected = rows[-1].window + 1 if rows else 0
                if row.window < expected or (row.window > expected and not gaps):
                    place.refuse(f"`window` is {row.window}, expected {expected}")
                rows.append(row)
            place.refuse(f"the trace has more than {MAX_ROWS} rows")
    except OSError as error:
        if partial:
            return tuple(rows)
        _Place(shown or path.name, 1, "").refuse(f"the trace cannot be read: {error.strerror}")


def parse_row(file: str, raw: bytes, window: int) -> TraceRow:
    """Return the row of a window from its JSON text; `file` is for the message.

    Raises:
        DiagnosticError: CC701 if it breaks the contract.
    """
    place = _Place(file, window + 1, raw.decode("utf-8", "replace"))
    row = _row(place, raw)
    if row.window != window:
        place.refuse(f"`window` is {row.window}, expected {window}")
    return row


def _row(place: _Place, raw: bytes) -> TraceRow:
    if len(raw) > MAX_LINE:
        place.refuse(f"the row is longer than {MAX_LINE} bytes")
    try:
        document = parse_json(raw)
    except ValueError:
        place.refuse("the row is not JSON")
    if not isinstance(document, dict):
        place.refuse("the row is not a JSON object")
    row = TraceRow(
        window=_count(place, document, "window"),
        n_micro=_count(place, document, "n_micro", low=1),
        rows=_count(place, document, "rows", low=1),
        loss=_number(place, document, "loss", optional=True),
        lr=_required(place, document, "lr"),
        grad_norm=_number(place, document, "grad_norm", optional=True),
        scale=_required(place, document, "scale"),
        skipped=_flag(place, document, "skipped"),
        updates=_count(place, document, "updates"),
        peak_memory=_count(place, document, "peak_memory") if "peak_memory" in document else None,
        tokens=_tokens(document),
    )
    if not row.scale > 0:
        place.refuse("`scale` is not above 0")
    return row


def _field(place: _Place, document: dict[str, Any], name: str) -> Any:
    if name not in document:
        place.refuse(f"`{name}` is missing")
    return document[name]


def _count(place: _Place, document: dict[str, Any], name: str, low: int = 0) -> int:
    value = _field(place, document, name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < 2**63:
        place.refuse(f"`{name}` is not a whole number of at least {low}")
    return value


def _tokens(document: dict[str, Any]) -> int | None:
    """Return the labels of a window; the contract does not know the key, it may hold anything."""
    value = document.get("tokens")
    plain = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if plain else None


def _flag(place: _Place, document: dict[str, Any], name: str) -> bool:
    value = _field(place, document, name)
    if not isinstance(value, bool):
        place.refuse(f"`{name}` is not true or false")
    return value


def _required(place: _Place, document: dict[str, Any], name: str) -> float:
    value = _number(place, document, name, optional=False)
    assert value is not None
    return value


def _number(place: _Place, document: dict[str, Any], name: str, *, optional: bool) -> float | None:
    value = _field(place, document, name)
    if value is None and optional:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        place.refuse(f"`{name}` is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        place.refuse(f"`{name}` is not finite; non-finite values are written as null")
    return number
