"""Read JSON with the place of every key and value, tolerant of hand-written files.

Comments, trailing commas and single quotes are read and reported: the tool that owns the file may
refuse them.
"""

from __future__ import annotations

import functools
import json
import re
from bisect import bisect_right

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Plain
from crosscast_reading.readers.tree import Document, Tree

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 50_000

_BLANK = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/|#[^\n]*+)++", re.S)
_WORD = re.compile(r"[-+]?[\w.][\w.+-]*")
_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_PYTHON: dict[str, Plain] = {"True": True, "False": False, "None": None}


class _MalformedError(Exception):
    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset


@functools.lru_cache(maxsize=8)
def read_json(source: Source) -> Document:
    """Return the tree of a JSON text; malformed text gives diagnostics and no tree."""
    reader = _Reader(source)
    document = Document()
    try:
        if len(source.text) > MAX_CHARACTERS:
            raise _MalformedError(0, f"more than {MAX_CHARACTERS} characters")
        reader.blank()
        document.tree = reader.value(0)
        reader.blank()
        if reader.at < len(source.text):
            document.tree = None
            raise _MalformedError(reader.at, "text after the end of the document")
    except _MalformedError as error:
        message = f"not JSON: {error}"
        document.diagnostics.append(
            Diagnostic(code="CC921", message=message, span=reader.span(error.offset))
        )
    document.diagnostics += reader.diagnostics
    return document


class _Reader:
    def __init__(self, source: Source) -> None:
        self.text = source.text
        self.file = source.name
        self.at = 0
        self.nodes = 0
        self.starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.diagnostics: list[Diagnostic] = []
        self.reported: set[str] = set()

    def span(self, start: int, end: int | None = None) -> Span:
        line = bisect_right(self.starts, start)
        first = self.starts[line - 1]
        text = self.text[first : self.text.find("\n", start) % (len(self.text) + 1)].rstrip("\r")
        column = start - first + 1
        last = None if end is None or "\n" in self.text[start:end] else column + end - start
        return Span(self.file, line, column, last, text)

    def odd(self, what: str, offset: int) -> None:
        if what in self.reported:
            return
        self.reported.add(what)
        self.diagnostics.append(
            Diagnostic(
                code="CC922",
                message=f"{what}: not allowed in strict JSON",
                severity=Severity.WARNING,
                span=self.span(offset),
                hint="the tool that reads this file may refuse it",
            )
        )

    def blank(self) -> None:
        if match := _BLANK.match(self.text, self.at):
            if match.group().strip():
                self.odd("a comment", match.end() - len(match.group().lstrip()))
            self.at = match.end()

    def value(self, depth: int) -> Tree:
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise _MalformedError(self.at, f"nested deeper than {MAX_DEPTH} levels")
        if self.nodes > MAX_NODES:
            raise _MalformedError(self.at, f"more than {MAX_NODES} values")
        start = self.at
        first = self.text[start : start + 1]
        if first == "{":
            return self.mapping(depth)
        if first == "[":
            return self.sequence(depth)
        if first in ('"', "'"):
            text = self.string()
            return Tree(self.span(start, self.at), text)
        match = _WORD.match(self.text, start)
        if not match:
            raise _MalformedError(start, "a value is missing" if first else "the text ends early")
        self.at = match.end()
        return Tree(self.span(start, self.at), self.scalar(match.group(), start), plain=True)

    def scalar(self, word: str, start: int) -> Plain:
        if word in _PYTHON:
            self.odd(f"the word {word}", start)
            return _PYTHON[word]
        if len(word) > 100:
            raise _MalformedError(start, "a word of more than 100 characters")
        try:
            value = json.loads(word.lstrip("+"))
        except ValueError:
            raise _MalformedError(start, f"{word} is not a value") from None
        return value if isinstance(value, int | float) else None

    def string(self) -> str:
        start = self.at
        single = self.text[start] == "'"
        match = (_SINGLE if single else _TEXT).match(self.text, start)
        if not match:
            raise _MalformedError(start, "an unterminated string")
        self.at = match.end()
        if single:
            self.odd("single quotes", start)
            return match.group(1)
        try:
            return str(json.loads(match.group(), strict=False))
        except ValueError:
            raise _MalformedError(start, "an escape that JSON does not have") from None

    def mapping(self, depth: int) -> Tree:
        start = self.at
        keys: dict[str, Tree] = {}
        self.at += 1
        while not self.closed("}", bool(keys)):
            key_start = self.at
            if self.text[key_start : key_start + 1] not in ('"', "'"):
                raise _MalformedError(key_start, "a key in quotes is missing")
            key = self.string()
            key_span = self.span(key_start, self.at)
            self.blank()
            if self.text[self.at : self.at + 1] != ":":
                raise _MalformedError(self.at, "a colon is missing")
            self.at += 1
            self.blank()
            if key in keys:
                self.repeated(key, key_span)
            tree = self.value(depth + 1)
            tree.key = key_span
            keys[key] = tree
        return Tree(self.span(start, self.at), keys=keys)

    def repeated(self, key: str, span: Span) -> None:
        message = f"the key {key!r} is given twice; the later one counts where a tool allows it"
        self.diagnostics.append(
            Diagnostic(code="CC923", message=message, severity=Severity.WARNING, span=span)
        )

    def sequence(self, depth: int) -> Tree:
        start = self.at
        items: list[Tree] = []
        self.at += 1
        while not self.closed("]", bool(items)):
            items.append(self.value(depth + 1))
        return Tree(self.span(start, self.at), items=items)

    def closed(self, bracket: str, some: bool) -> bool:
        """Skip blanks, commas and the closing bracket; return whether the bracket was there."""
        self.blank()
        comma = self.at
        if some and self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self.blank()
            some = False
            if self.text[self.at : self.at + 1] == bracket:
                self.odd("a comma after the last entry", comma)
        if self.text[self.at : self.at + 1] == bracket:
            self.at += 1
            return True
        if some:
            raise _MalformedError(self.at, f"a comma or {bracket} is missing")
        return False
