"""Read a text file line by line as UTF-8 and report the location of invalid bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crosscast.data.row_problems import Problems
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span

OTHER_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(slots=True)
class Lines:
    """The lines of a file with their numbers, without line ends and byte order mark.

    Problems go to `problems`. What was dropped (a byte order mark, carriage returns) is in `notes`
    afterwards.
    """

    path: Path
    problems: Problems
    notes: list[Diagnostic] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield line number (from 1) and text of every non-empty line.

        Raises:
            DiagnosticError: CC601 if the file cannot be read.
        """
        carriage_returns = False
        try:
            if self.path.exists() and not self.path.is_file():  # a pipe would be waited for
                raise OSError("it is not a regular file")
            with self.path.open("rb") as stream:
                for number, raw in enumerate(stream, start=1):
                    if number == 1:
                        if raw.startswith(OTHER_MARKS):
                            message = "the file is UTF-16 or UTF-32, not UTF-8"
                            self.problems.add("CC620", message, 1)
                            return
                        raw = self._without_mark(raw)
                    content = raw.removesuffix(b"\n")
                    if content.endswith(b"\r") and not carriage_returns:
                        carriage_returns = True
                        self._note(number, "lines end with CR LF; the CR was removed")
                    text = self._decoded(number, content.removesuffix(b"\r"))
                    if text:
                        yield number, text
        except OSError as error:
            message = f"{self.path} cannot be read: {error.strerror or error}"
            raise DiagnosticError(Diagnostic(code="CC601", message=message)) from error

    def _without_mark(self, raw: bytes) -> bytes:
        if raw.startswith(codecs.BOM_UTF8):
            self._note(1, "the file starts with a byte order mark; it was removed")
        return raw.removeprefix(codecs.BOM_UTF8)

    def _decoded(self, number: int, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            column = len(raw[: error.start].decode("utf-8")) + 1
            self.problems.add(
                "CC620",
                f"byte 0x{raw[error.start]:02x} is not UTF-8",
                number,
                text=raw.decode("utf-8", errors="replace"),
                columns=(column, column + 1),
            )
            return ""

    def _note(self, line: int, message: str) -> None:
        span = Span(self.problems.file, line, 1)
        self.notes.append(
            Diagnostic(code="CC628", message=message, severity=Severity.NOTE, span=span)
        )
