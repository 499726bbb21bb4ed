"""Comments that mark a value of a recipe as still to be filled in: `steps: 8  # FILL IN: why`.

A mark is a comment that begins with the words, behind a value (or a key) on its line. It marks what
ends last there: in `{a: 1, b: 2}  # FILL IN` the whole mapping. Comments on lines of their own, and
the words within a text or further back in a comment, mark nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Diagnostic, Severity, Span

PathKey = tuple[str | int, ...]
FILL_IN = "FILL IN"
"""Marks what no source says."""
_MARK = re.compile(rf"[:,\s]*\s#\s*{FILL_IN}\b:?(.*)")
_HINT = "write the value and delete the comment; --allow-fill-in takes the values as they are"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A value that is still to be filled in."""

    path: PathKey
    span: Span
    note: str
    """What the comment says besides."""

    @property
    def dotted(self) -> str:
        """The path as diagnostics have it."""
        return ".".join(map(str, self.path))


@dataclass(slots=True)
class Ends:
    """For every line of a document what ends last on it: its path and where it ends."""

    by_line: dict[int, tuple[int, PathKey]] = field(default_factory=dict)

    def add(self, path: PathKey, line: int, column: int) -> None:
        """Note that a key or value ends here; lines and columns count from 0."""
        if column >= self.by_line.get(line, (0, ()))[0]:
            self.by_line[line] = column, path

    def marks(
        self, lines: Sequence[str], place: Callable[[PathKey], Span | None]
    ) -> tuple[Mark, ...]:
        """Return the marks of a document; free keys (`x-...`) hold notes and no values."""
        marks = []
        for line, (column, path) in sorted(self.by_line.items()):
            text = lines[line][column:] if line < len(lines) else ""
            comment = _MARK.match(text) if FILL_IN in text else None
            span = place(path)
            if comment and span is not None and path and not str(path[0]).startswith("x-"):
                marks.append(Mark(path=path, span=span, note=comment[1].strip()))
        return tuple(marks)


def still_open(marks: Sequence[Mark], severity: Severity = Severity.ERROR) -> list[Diagnostic]:
    """Return a diagnostic for every mark; the first one says what to do."""
    return [
        Diagnostic(
            code="CC109",
            severity=severity,
            path=mark.dotted,
            span=mark.span,
            message=f"still to be filled in{f': {mark.note}' if mark.note else ''}",
            hint=_HINT if mark is marks[0] and severity is Severity.ERROR else "",
        )
        for mark in marks
    ]


def with_marks(text: str, marks: Sequence[Mark], place: Callable[[PathKey], Span | None]) -> str:
    """Return a recipe's text with marks at the lines of their values.

    Args:
        text: a recipe in blocks.
        marks: those of another text of the same recipe.
        place: returns where a value is in the text, or the section that leaves it out.
    """
    lines = text.splitlines()
    for mark in marks:
        span = place(mark.path)
        if span is not None and FILL_IN not in lines[span.line - 1]:
            lines[span.line - 1] += f"  # {FILL_IN}{f': {mark.note}' if mark.note else ''}"
    return "\n".join(lines) + "\n"
