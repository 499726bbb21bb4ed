"""Read YAML files of other tools as the loader of that tool reads them.

ruamel.yaml turns the text into events (YAML 1.1); what plain scalars mean is decided here, because
tools differ: PyYAML reads `1e-6` as text, loaders that repair this (OmegaConf, jsonargparse, Model
Garden's) as a number. Tags are kept as words and never construct anything.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Plain
from crosscast_reading.readers.tree import Document, Tree

Loader = Literal["pyyaml", "numbers"]
"""`pyyaml`: stock PyYAML; `numbers`: with `1e-6` read as a number."""

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 48
MAX_NODES = 20_000

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_BOOLS: dict[str, bool] = {"yes": True, "no": False, "true": True, "false": False}
_BOOLS |= {"on": True, "off": False}
_BOOLS |= {w: v for k, v in tuple(_BOOLS.items()) for w in (k.capitalize(), k.upper())}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_BASED = re.compile(r"([-+]?)(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+)")
_FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?")
_REPAIRED = re.compile(r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")


class _TooMuchError(Exception):
    pass


@functools.lru_cache(maxsize=8)
def read_yaml(source: Source, loader: Loader = "pyyaml") -> Document:
    """Return the tree of the first document; malformed text gives diagnostics and no tree."""
    builder = _Builder(source, loader)
    document = Document()
    try:
        if len(source.text) > MAX_CHARACTERS:
            raise _TooMuchError(f"more than {MAX_CHARACTERS} characters")
        document.tree = builder.build()
    except MarkedYAMLError as error:
        mark = error.problem_mark
        span = builder.at(mark.line, mark.column) if mark else None
        problem = " ".join(str(error.problem or error.context or "malformed").split())
        document.diagnostics.append(Diagnostic(code="CC921", message=problem, span=span))
    except Exception as error:  # the parser asserts and converts without checking, too
        reason = (str(error).splitlines() or ["malformed"])[0][:200]
        document.diagnostics.append(Diagnostic(code="CC921", message=f"not YAML: {reason}"))
    document.diagnostics += builder.diagnostics
    return document


class _Builder:
    def __init__(self, source: Source, loader: Loader) -> None:
        self.file = source.name
        self.text = source.text
        self.loader = loader
        self.lines = _LINE_BREAK.split(source.text)
        self.diagnostics: list[Diagnostic] = []
        self.anchors: dict[str, Tree] = {}
        self.nodes = 0
        self.events: Iterator[Event] = iter(())

    def build(self) -> Tree | None:
        reader = YAML(typ="safe", pure=True)
        reader.version = (1, 1)
        self.events = iter(reader.parse(self.text))
        for event in self.events:
            if isinstance(event, StreamStartEvent | DocumentStartEvent):
                continue
            if isinstance(event, StreamEndEvent):
                return None
            return self.value(event, 0)
        return None

    def at(self, line: int, column: int, end_column: int | None = None) -> Span:
        text = self.lines[line] if line < len(self.lines) else ""
        return Span(self.file, line + 1, column + 1, end_column, text)

    def span(self, event: Event) -> Span:
        first, last = event.start_mark, event.end_mark
        end_column = last.column + 1 if last.line == first.line else None
        return self.at(first.line, first.column, end_column)

    def value(self, event: Event, depth: int) -> Tree:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _TooMuchError(f"more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise _TooMuchError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            known = self.anchors.get(str(event.anchor))
            if known is None:
                raise _TooMuchError(f"the alias *{event.anchor} is not defined")
            return known
        if isinstance(event, MappingStartEvent):
            tree = self.mapping(event, depth)
        elif isinstance(event, CollectionStartEvent):
            tree = Tree(self.span(event), items=[])
            while not isinstance(item := next(self.events), CollectionEndEvent):
                assert tree.items is not None
                tree.items.append(self.value(item, depth + 1))
        elif isinstance(event, ScalarEvent):
            tree = self.scalar(event)
        else:
            raise _TooMuchError("a value is missing")
        tree.tag = "" if getattr(event, "tag", None) is None else str(event.tag)
        if event.anchor:
            self.anchors[str(event.anchor)] = tree
        return tree

    def mapping(self, start: Event, depth: int) -> Tree:
        keys: dict[str, Tree] = {}
        merged: dict[str, Tree] = {}
        while not isinstance(event := next(self.events), CollectionEndEvent):
            key = self.value(event, depth + 1)
            key_span = self.span(event)
            tree = self.value(next(self.events), depth + 1)
            if key.plain and key.value == "<<":
                for mapping in tree.items or [tree]:
                    merged = {**(mapping.keys or {}), **merged}
                continue
            name = str(key.value)
            if name in keys:
                message = f"the key {name!r} is given twice; the later one counts"
                self.diagnostics.append(
                    Diagnostic(
                        code="CC923", message=message, severity=Severity.WARNING, span=key_span
                    )
                )
            keys[name] = replace(tree, key=key_span)  # an alias keeps the place of its anchor
        return Tree(self.span(start), keys={**merged, **keys})

    def scalar(self, event: ScalarEvent) -> Tree:
        text: str = event.value
        span = self.span(event)
        if not event.implicit[0]:
            return Tree(span, text)
        value = plain_value(text, self.loader)
        if isinstance(value, str) and _REPAIRED.fullmatch(text):
            self.diagnostics.append(
                Diagnostic(
                    code="CC924",
                    message=f"{text} is text, not a number, to a YAML 1.1 loader",
                    severity=Severity.WARNING,
                    span=span,
                    hint=f"write {_with_dot(text)}",
                )
            )
        return Tree(span, value, plain=True)


def plain_value(text: str, loader: Loader) -> Plain:
    """Return the value that a scalar without quotes has for a loader."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if len(text) > 100:
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if match := _BASED.fullmatch(text):
        digits = match[2].replace("_", "")
        base = {"0b": 2, "0x": 16}.get(digits[:2], 8)
        return int(match[1] + digits.removeprefix("0b").removeprefix("0x"), base)
    if (_REPAIRED if loader == "numbers" else _FLOAT).fullmatch(text):
        number = float(text.replace("_", ""))
        return number if math.isfinite(number) else text
    return text


def _with_dot(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    exponent = exponent if exponent[:1] in "+-" else f"+{exponent}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
