"""Positions in source texts, and edits at positions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crosscast_reading.edits.edit import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends; form feeds do not end lines."""
    return _LINE_END.split(text)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with edits applied; they must not overlap.

    Inserted lines get the line ending of the text.
    """
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    newline = newline_of(text)
    for edit in sorted(edits, key=_place, reverse=True):
        start = _offset(starts, text, edit.line, edit.column)
        end = _offset(starts, text, edit.end_line, edit.end_column)
        new = edit.text if newline == "\n" else edit.text.replace("\n", newline)
        text = text[:start] + new + text[end:]
    return text


def newline_of(text: str) -> str:
    """Return the most frequent line ending of a text."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def overlap(edit: Edit, other: Edit) -> bool:
    """Whether two edits change the same text or insert at the same position."""
    if edit.file != other.file:
        return False
    first, second = sorted((edit, other), key=_place)
    start, end = (second.line, second.column), (first.end_line, first.end_column)
    return start < end or (first.line, first.column) == start


def _place(edit: Edit) -> tuple[int, int, int, int]:
    return (edit.line, edit.column, edit.end_line, edit.end_column)


def _offset(starts: Sequence[int], text: str, line: int, column: int) -> int:
    if line > len(starts):
        return len(text)
    return min(starts[line - 1] + column - 1, len(text))
