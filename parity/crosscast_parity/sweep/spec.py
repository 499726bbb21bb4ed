"""The folder of a cell: its specification (cell.json) and its result (result.json)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.processes.process import OutcomeKind

FORMAT = 1
SPEC, RESULT, LOCK = "cell.json", "result.json", "lock"
MAX_BYTES = 1 << 20
KINDS = frozenset(get_args(OutcomeKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSpec:
    """Input of a cell's process. Paths are relative to the cell's folder, or absolute.

    `script`: the folder of train.py. `weights`: empty if the framework draws them. `own`: absolute
    path of the folder in which the user's modules are found, empty for none. `timeout`: in seconds,
    of one attempt; infinite if None. `checkpoint_every`: None for the script's own.
    """

    python: str
    script: str
    train: str
    eval: str
    weights: str
    own: str
    windows: int
    threads: int
    device: str
    timeout: float | None
    checkpoint_every: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """How the last attempt of a cell ended, and the numbers of the training.

    `exit_code` is negative for a signal. `seconds` is of the last attempt, the only thing here
    (but for `attempts`) that is not the same every time. The hashes are of trace.jsonl and
    model.safetensors.
    """

    kind: OutcomeKind
    message: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    windows: int = 0
    updates: int = 0
    skipped: int = 0
    train_loss_tail: float | None = None
    eval_loss: float | None = None
    eval_accuracy: float | None = None
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    trace_sha256: str = ""
    weights_sha256: str = ""

    @property
    def complete(self) -> bool:
        """Whether the result is final: the script ended by itself."""
        return self.kind in ("finished", "stopped")


def write_spec(folder: Path, spec: CellSpec) -> None:
    """Write the input of a cell."""
    write_json(folder / SPEC, {"format": FORMAT, **asdict(spec)})


def read_spec(folder: Path) -> CellSpec:
    """Read the input of a cell.

    Raises:
        DiagnosticError: CC729 if the folder is no cell.
    """
    document = _read_json(folder / SPEC)
    names = {entry.name for entry in fields(CellSpec)}
    if document.get("format") != FORMAT or not names <= document.keys():
        message = f"{folder} is not a cell of a sweep"
        raise DiagnosticError(Diagnostic(code="CC729", message=message))
    return CellSpec(**{name: document[name] for name in names})


def write_result(folder: Path, result: CellResult) -> None:
    """Write a result, whole or not at all."""
    write_json(folder / RESULT, {"format": FORMAT, **asdict(result)})


def read_result(folder: Path) -> CellResult | None:
    """Read a result; None if there is none, or none that makes sense: the cell is run again."""
    document = _read_json(folder / RESULT)
    if document.get("format") != FORMAT or document.get("kind") not in KINDS:
        return None
    numbers = ("train_loss_tail", "eval_loss", "eval_accuracy", "exit_code")
    counts = ("attempts", "windows", "updates", "skipped", "seconds")
    texts = ("message", "device", "trace_sha256", "weights_sha256")
    sound = (
        all(document.get(n) is None or _is_number(document[n]) for n in numbers)
        and all(_is_number(document.get(n)) and document[n] >= 0 for n in counts)
        and all(isinstance(document.get(n), str) for n in texts)
        and isinstance(document.get("versions"), dict)
    )
    if not sound:
        return None
    return CellResult(**{entry.name: document[entry.name] for entry in fields(CellResult)})


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)  # type: ignore[arg-type]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        content = json.loads(raw.decode("utf-8")) if len(raw) <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    partial.replace(path)
