"""What a resumed run went on with (`resumed.json`, see `inside.continuity`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.files import read_json

FILE = "resumed.json"
MAX_BYTES = 4_000_000
MAX_TEXT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The state before the first window after a resume beside that after the window before.

    `window`: that first one. `tensors`: how many there are. `off`: by name those that are other
    ones, and what they are instead. `counters`: before and after, None where there is none. `next`:
    those in the checkpoint after the window, None if it was not seen.
    """

    window: int
    tensors: int
    off: Mapping[str, str]
    counters: Mapping[str, tuple[float | None, float | None]]
    next: Mapping[str, Any] | None


def read_resumed(path: Path) -> Resumed | None:
    """Read the file; None if there is none, because the script tells nothing of its state.

    Raises:
        DiagnosticError: CC723 if it breaks its contract.
    """
    if not path.exists():
        return None
    try:
        document = read_json(path, MAX_BYTES)
        return Resumed(
            window=int(document["window"]),
            tensors=int(document["tensors"]),
            off={_shortened(name): _shortened(words) for name, words in document["off"].items()},
            counters={
                _shortened(name): (_number(before), _number(after))
                for name, (before, after) in document["counters"].items()
            },
            next=None if document["next"] is None else dict(document["next"]),
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        message = f"{path.name} does not tell what a run was resumed with: {error!r}"
        raise DiagnosticError(Diagnostic(code="CC723", message=message)) from None


def _shortened(value: Any) -> str:
    return str(value)[:MAX_TEXT]


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
