"""Shell text with places, and values of shell words as known and unknown pieces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Origin

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANK = re.compile(r"[ \t\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a word that comes from a single place."""

    text: str
    """The text, or the expression as written if the text is unknown."""
    span: Span
    """The place of the text itself, not of the variable that holds it."""
    known: bool = True
    reason: str = ""
    options: tuple[str, ...] = ()
    """The possible texts, if they are known."""
    via: tuple[Span, ...] = ()
    """Places of the variables that passed it on."""
    origin: Origin = "literal"
    splits: bool = False
    """Whether it is subject to field splitting: it comes from an unquoted expansion."""


Word = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """The value of an array variable."""

    words: tuple[Word, ...]


Variable = Word | Array


def pieces_of(variable: Variable) -> Word:
    """Return the pieces of a variable, of all its elements if it is an array."""
    words = variable.words if isinstance(variable, Array) else (variable,)
    return tuple(piece for word in words for piece in word)


class ShellText:
    """A piece of shell: the bytes that tree-sitter reads, and the origin of each byte."""

    def __init__(self, text: str, file: str, origin: Sequence[tuple[int, Piece]] = ()) -> None:
        """Take a text; `origin` maps offsets to the pieces that an inner text was made of."""
        self.file = file
        self.bytes = text.encode("utf-8", "replace")
        self.lines = text.split("\n")
        self.starts = [0, *(m.end() for m in re.finditer(b"\n", self.bytes))]
        self.origin = origin
        self.offsets = [offset for offset, _ in origin]

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the place of bytes."""
        if self.origin:
            index = max(bisect_right(self.offsets, start) - 1, 0)
            offset, piece = self.origin[index]
            column = piece.span.column + max(start - offset, 0)
            return replace(piece.span, column=column, end_column=None)
        line = bisect_right(self.starts, start)
        first = self.starts[line - 1]
        column = len(self.bytes[first:start].decode("utf-8", "replace")) + 1
        last = None
        if end is not None and b"\n" not in self.bytes[start:end]:
            last = column + len(self.bytes[start:end].decode("utf-8", "replace"))
        shown = self.lines[line - 1] if line <= len(self.lines) else ""
        return Span(self.file, line, column, last, shown)

    def slice(self, start: int, end: int) -> str:
        """Return the text of bytes."""
        return self.bytes[start:end].decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        return self.slice(node.start_byte, node.end_byte)

    def part(self, node: Node, name: str) -> Node:
        """Return a part that every node of this type has."""
        child = node.child_by_field_name(name)
        assert child is not None
        return child

    def place(self, node: Node) -> Span:
        """Return the place of a node."""
        return self.span(node.start_byte, node.end_byte)

    def literal(self, start: int, end: int, *, quoted: bool) -> Word:
        """Return pieces for literal text, one per line, with escapes and continuations resolved."""
        pieces: list[Piece] = []
        at = start
        for line in self.slice(start, end).splitlines(keepends=True):
            size = len(line.encode("utf-8", "replace"))
            text = _unescaped(line, quoted)
            if text:
                pieces.append(Piece(text=text, span=self.span(at, at + len(line.rstrip("\n")))))
            at += size
        return tuple(pieces)


def _unescaped(line: str, quoted: bool) -> str:
    """Return a line without the backslashes that bash removes, and without continuations."""
    if "\\" not in line:
        return line
    if quoted:
        return re.sub(r"\\(\n|[\"\\$`])", lambda m: m[1].strip("\n"), line)
    return re.sub(r"\\(\n|.)", lambda m: m[1].strip("\n"), line)


def text_of(word: Word) -> str | None:
    """Return the text of a word, None if a part of it is unknown."""
    return "".join(p.text for p in word) if all(p.known for p in word) else None


def shown(word: Word) -> str:
    """Return the text of a word with unknown parts as they are written."""
    return "".join(p.text for p in word)


def reason_of(word: Word) -> str:
    """Return why a word is unknown."""
    return next((p.reason for p in word if not p.known), "")


def places_of(word: Word) -> tuple[Span, ...]:
    """Return the places of a word: of the text first, then of the variables that passed it on."""
    places: dict[int, Span] = {}
    for piece in word:
        places.setdefault(piece.span.line, piece.span)
    for piece in word:
        for span in piece.via:
            places.setdefault(span.line, span)
    return tuple(places.values())


def split_fields(word: Word) -> list[Word]:
    """Return the words of an expanded word after field splitting."""
    fields: list[list[Piece]] = []
    open_field: list[Piece] | None = None
    for piece in word:
        if not (piece.splits and piece.known):
            if open_field is None:
                fields.append(open_field := [])
            open_field.append(replace(piece, splits=False) if piece.known else piece)
            continue
        at = 0
        text = piece.text
        for blank in [*_BLANK.finditer(text), None]:
            end = len(text) if blank is None else blank.start()
            if end > at:
                if open_field is None:
                    fields.append(open_field := [])
                open_field.append(_part(piece, at, end))
            if blank is not None:
                open_field = None
                at = blank.end()
    return [tuple(f) for f in fields]


def _part(piece: Piece, start: int, end: int) -> Piece:
    span = piece.span
    if start:
        span = replace(span, column=span.column + start, end_column=None)
    return replace(piece, text=piece.text[start:end], span=span, splits=False)


def joined(words: Iterable[Word], span: Span) -> Word:
    """Return words joined by blanks, as in `"$*"`."""
    pieces: list[Piece] = []
    for word in words:
        if pieces:
            pieces.append(Piece(text=" ", span=span))
        pieces += word
    return tuple(pieces)


def inner_text(word: Word, file: str) -> tuple[ShellText, dict[str, Word]]:
    """Return a word as separate shell text, with variables in place of unknown parts."""
    parts: list[str] = []
    origin: list[tuple[int, Piece]] = []
    unknown: dict[str, Word] = {}
    offset = 0
    for piece in word:
        text = piece.text
        if not piece.known:
            name = f"__part_{len(unknown)}"
            unknown[name] = (piece,)
            text = "${" + name + "}"
        origin.append((offset, piece))
        parts.append(text)
        offset += len(text.encode("utf-8", "replace"))
    return ShellText("".join(parts), file, origin), unknown
