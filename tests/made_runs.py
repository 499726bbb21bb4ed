"""Runs as they leave themselves: a folder with a trace and a status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosscast_parity.recordings.trace import TraceRow
from parity_fakes import good_rows

STATUS: dict[str, Any] = {
    "status": "finished",
    "exit_code": 0,
    "message": "",
    "eval": {"loss": 0.25, "accuracy": 0.5, "ema_loss": 0.125, "mae": None},
    "device": "cpu",
    "versions": {"torch": "2.13.0"},
}


def made(folder: Path, rows: Sequence[TraceRow] = (), **status: Any) -> Path:
    """Write what a run leaves, and return its folder."""
    folder.mkdir(parents=True)
    texts = [json.dumps(row.to_json()) for row in rows or good_rows(4, skipped=[1])]
    (folder / "trace.jsonl").write_text("".join(f"{text}\n" for text in texts))
    (folder / "status.json").write_text(json.dumps(STATUS | status))
    return folder
