"""Collect problems in the rows of a text file, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span

LIMIT = 20


@dataclass(slots=True)
class Problems:
    """The first `LIMIT` problems of one file in full, and how many more there are."""

    file: str
    kept: list[Diagnostic] = field(default_factory=list)
    hidden: int = 0
    last_line: int = 1

    def add(
        self,
        code: str,
        message: str,
        line: int,
        *,
        text: str = "",
        columns: tuple[int, int | None] = (1, None),
        hint: str = "",
    ) -> None:
        """Add a problem; `columns` are its first column and the one after its last."""
        self.last_line = max(self.last_line, line)
        if len(self.kept) == LIMIT:
            self.hidden += 1
            return
        span = Span(self.file, line, columns[0], columns[1], text)
        self.kept.append(Diagnostic(code=code, message=message, span=span, hint=hint))

    def raise_any(self) -> None:
        """Raise `DiagnosticError` if there was any problem."""
        if not self.kept:
            return
        if self.hidden:
            self.kept.append(
                Diagnostic(
                    code="CC629",
                    message=f"{self.hidden} more problems in this file are not shown",
                    severity=Severity.NOTE,
                    span=Span(self.file, self.last_line, 1),
                )
            )
        raise DiagnosticError(*self.kept)
