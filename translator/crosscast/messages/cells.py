"""Widths of texts in the cells of a terminal, where a Chinese character takes two."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WIDE = "WF"
_ZERO = ("Mn", "Me", "Cf")
"""Categories of characters that are drawn on the one before, or not at all."""
_CLOSING = frozenset("，。、；：！？）」』】》…")  # noqa: RUF001
"""Characters that may not begin a line."""


def cells(text: str) -> int:
    """Return the number of cells that a line of text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in _ZERO:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def padded(text: str, width: int) -> str:
    """Return a text with as many spaces as fill the width."""
    return text + " " * (width - cells(text))


def wrapped(
    text: str, width: int, *, first: str = "", indent: str = "", cut: bool = True
) -> list[str]:
    """Return a text in lines of at most a width.

    Args:
        text: the text; a break of a line counts as a space.
        width: number of cells.
        first: what the first line begins with.
        indent: what the others begin with.
        cut: whether a longer word is cut; otherwise its line is too long.
    """
    lines: list[str] = []
    before, line, space = first, "", ""
    for piece in _pieces(text):
        if piece.isspace():
            space = piece.replace("\n", " ") if line else ""
            continue
        if line and cells(before + line + space + piece) > width:
            lines.append(before + line)
            before, line, space = indent, "", ""
        line, space = line + space + piece, ""
        while cut and cells(before + line) > width:
            size = _fitting(line, width - cells(before))
            if size == len(line):
                break
            lines.append(before + line[:size])
            before, line = indent, line[size:]
    return [*lines, before + line] if line else lines


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit into a number of cells, at least one."""
    used = 0
    for number, character in enumerate(text):
        used += _cells(character)
        if used > room and number:
            return number
    return len(text)


def _pieces(text: str) -> Iterator[str]:
    """Yield the spaces of a text and the parts between which a line may end."""
    for word in re.findall(r"\s+|\S+", text):
        if word.isascii():
            yield word
            continue
        piece = ""
        for character in word:
            breaks = _cells(character) == 2 or (piece and _cells(piece[-1]) == 2)
            if piece and breaks and character not in _CLOSING:
                yield piece
                piece = ""
            piece += character
        yield piece
