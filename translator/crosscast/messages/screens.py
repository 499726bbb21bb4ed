"""What a command prints: three lines first, then its parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from crosscast.messages.cells import wrapped
from crosscast.messages.diagnostics import printable
from crosscast.messages.text_tables import layout

Head = tuple[str, str, str]
"""The lines that every command prints first."""
_TITLES = ("Looked at:", "Verdict:  ", "Next:     ")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a screen."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    """Cells of one line each."""
    long: Collection[str] = ()
    """Names of the columns with sentences, which may be wrapped."""
    title: str = ""


Part = str | Table
"""A paragraph or a table."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a screen."""

    text: str
    bold: bool = False


def head(looked_at: str, verdict: str, next: str) -> Head:
    """Return the lines that a command prints first.

    Args:
        looked_at: what was looked at.
        verdict: the result in a sentence.
        next: what to do with it.
    """
    parts = zip(_TITLES, (looked_at, verdict, next), strict=True)
    # Names may be those of untrusted files.
    first, second, third = (f"{title} {printable(' '.join(t.split()))}" for title, t in parts)
    return first, second, third


def screen(first: Head, parts: Iterable[Part], width: int | None) -> Iterator[Line]:
    """Yield the lines of a screen.

    Args:
        first: the lines to begin with.
        parts: what follows, with an empty line before each.
        width: width of the terminal; None prints lines of any length.
    """
    for text in first:
        yield from map(Line, fitted(text, width, " " * (len(_TITLES[0]) + 1)))
    for part in parts:
        yield Line("")
        if isinstance(part, str):
            for text in part.splitlines():
                yield from map(Line, fitted(text, width, "  "))
            continue
        yield from table_lines(part, width)


def table_lines(table: Table, width: int | None) -> Iterator[Line]:
    """Yield the title of a table, the names of its columns and its rows."""
    if table.title:
        for title in table.title.splitlines():
            yield from (Line(text, bold=True) for text in fitted(title, width, "  "))
    rows = [[cell.replace("\n", "\\n") for cell in row] for row in table.rows]  # names of files
    cells = layout(table.columns, rows, long=table.long, width=width)
    yield from (Line(text, bold=True) for text in cells.head)
    yield from map(Line, cells.rows)


def fitted(text: str, width: int | None, indent: str) -> list[str]:
    """Return a line in as many as the width requires; a long name is never cut."""
    if width is None:
        return [text]
    begin = text[: len(text) - len(text.lstrip())]
    return wrapped(text, width, first=begin, indent=begin + indent, cut=False) or [text]
