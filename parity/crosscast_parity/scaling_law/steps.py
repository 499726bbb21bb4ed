"""Read the windows of a process, as written by `inside.steps`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.trace import TraceRow, parse_row

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Step:
    """One window of one process.

    `row_hashes`: by micro-batch. `digests`: of the state after it, by name.
    """

    row: TraceRow
    row_hashes: tuple[tuple[int, ...], ...]
    counters: Mapping[str, float]
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Steps:
    """All windows of one process, and the folder with the states that were kept."""

    steps: tuple[Step, ...]
    folder: Path

    @property
    def rows(self) -> tuple[TraceRow, ...]:
        """The trace."""
        return tuple(step.row for step in self.steps)

    def kept(self, window: int) -> bool:
        """Whether the state after a window was kept."""
        return window < len(self.steps) and (self.folder / f"{window}.npz").is_file()

    def arrays(self, window: int) -> dict[str, np.ndarray]:
        """Return the state after a window, by `slot/parameter`.

        Raises:
            DiagnosticError: CC702 if the file is damaged.
        """
        path = self.folder / f"{window}.npz"
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except Exception as error:  # a damaged file raises any
            raise _damaged(path, error) from None


def read_steps(folder: Path) -> Steps:
    """Read the windows of a process; a broken last line is left out.

    Raises:
        DiagnosticError: CC701 for a row that breaks the contract, CC702 for anything else.
    """
    path = folder / "steps.jsonl"
    try:
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return Steps(tuple(_step(raw, n) for n, raw in enumerate(lines)), folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from None


def _step(raw: bytes, window: int) -> Step:
    document: dict[str, Any] = json.loads(raw)
    return Step(
        row=parse_row("steps.jsonl", json.dumps(document["row"]).encode(), window),
        row_hashes=tuple(tuple(int(h) for h in micro) for micro in document["given"]),
        counters=dict(document["counters"]),
        digests=dict(document["digests"]),
    )


def _damaged(path: Path, error: Exception) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC702", message=f"{path.name} is damaged: {error!r}"))
