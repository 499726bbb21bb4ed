"""Widths on a terminal, where a Chinese character takes two columns.

Texts without such characters are wrapped exactly as `textwrap` wraps them.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator

_TOKEN = re.compile(r"\s+|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+|.", re.DOTALL)
"""A blank, a word, or one wide character."""
_NOT_FIRST = frozenset(("Pe", "Pf", "Po"))
"""Kinds of characters that must not begin a line: closing brackets and marks."""
_NOT_LAST = frozenset(("Ps", "Pi"))
"""Kinds of characters that must not end a line: opening brackets."""


def display_width(text: str) -> int:
    """Return the number of columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    """Return a text with blanks up to a number of columns."""
    return text + " " * (width - display_width(text))


def wrap(text: str, width: int, *, indent: str = "", break_long_words: bool = True) -> list[str]:
    """Return the lines of a text, each indented and of at most that many columns.

    Without `break_long_words` a longer word has a line of its own. A line may end between Chinese
    characters, but begins with no closing punctuation mark.
    """
    if display_width(text) == len(text):
        return textwrap.wrap(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=break_long_words,
        )
    room = max(2, width - display_width(indent))
    lines = [""]
    for piece in _pieces(text):
        parts = _cut(piece, room) if break_long_words else [piece]
        for part in parts:
            if display_width((lines[-1] + part).rstrip()) > room and lines[-1]:
                lines.append("")
            lines[-1] += part if lines[-1] else part.lstrip()
    return [f"{indent}{line.rstrip()}" for line in lines if line.strip()]


def _pieces(text: str) -> Iterator[str]:
    """Yield what a line may not be broken within; blanks come before their word."""
    held = ""
    for token in _TOKEN.findall(text):
        token = " " if token.isspace() else token
        if held and held != " " and not _inseparable(held[-1], token):
            yield held
            held = ""
        held += token
    if held:
        yield held


def _inseparable(last: str, token: str) -> bool:
    closing = len(token) == 1 and unicodedata.category(token) in _NOT_FIRST
    return closing or unicodedata.category(last) in _NOT_LAST


def _cut(piece: str, room: int) -> list[str]:
    """Return the parts of a piece that is longer than a line."""
    parts = [""]
    for character in piece:
        if display_width((parts[-1] + character).lstrip()) > room:
            parts.append("")
        parts[-1] += character
    return parts
