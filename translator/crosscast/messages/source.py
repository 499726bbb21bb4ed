"""Read the user's text files: UTF-8, limited in size, from a path or stdin."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import failure

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its name in diagnostics."""

    name: str
    text: str


def read_source(path: str, *, max_bytes: int) -> Source:
    """Read a text file, or stdin if `path` is `-`.

    Raises:
        DiagnosticError: CC001-CC005.
    """
    name = "<stdin>" if path == STDIN else path
    try:
        if path == STDIN:
            if sys.stdin is None:  # started with stdin closed
                raise failure("CC003", f"{name}: closed")
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            file = Path(path)
            if not file.exists():
                raise failure("CC001", f"{name}: no such file")
            if not file.is_file():
                raise failure("CC002", f"{name}: not a regular file")
            with file.open("rb") as stream:
                data = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure("CC003", f"{name}: {reason}") from None
    if len(data) > max_bytes:
        raise failure("CC004", f"{name}: larger than {max_bytes} bytes")
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure("CC005", f"{name}:{line}: byte {error.start} is not UTF-8") from None
