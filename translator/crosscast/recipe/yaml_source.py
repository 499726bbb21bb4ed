"""Parse YAML 1.2 into plain data with the location of every key and value, within strict limits.

ruamel.yaml parses the text to events; values are built here, so that limits apply during parsing.
Plain scalars follow YAML 1.2's core schema: `no` and `1_000` are strings. Features that recipes do
not need (tags, anchors, several documents, duplicate keys, non-finite numbers) are diagnostics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

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
)
from ruamel.yaml.reader import ReaderError

from crosscast.messages.diagnostics import Collector, Diagnostic, DiagnosticError, Span
from crosscast.recipe.fill_in import Ends, Mark
from crosscast.recipe.fill_in import PathKey as PathKey

MAX_BYTES = 1 << 20
MAX_NODES = 10_000
MAX_DEPTH = 32
MAX_NUMBER_LENGTH = 100

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class YamlDocument:
    """Plain data (dict, tuple, str, int, float, bool, None) and the span of every part of it."""

    file: str
    data: Any
    keys: dict[PathKey, Span] = field(default_factory=dict)
    """Span of the key that leads to a path; the root and sequence items have none."""
    values: dict[PathKey, Span] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    """Values with a comment that says that they are still to be filled in."""

    def span(self, path: PathKey, *, of_key: bool = False) -> Span | None:
        """Return the span of a path, or of its nearest parent that the file contains."""
        while path:
            if of_key and path in self.keys:
                return self.keys[path]
            if path in self.values:
                return self.values[path]
            path, of_key = path[:-1], True
        return self.values.get(())


def parse(text: str, file: str, *, max_nodes: int = MAX_NODES) -> YamlDocument:
    """Parse one YAML document of a limited number of values.

    Raises:
        DiagnosticError: CC006-CC015, all problems of the document together if possible.
    """
    return _Builder(text, file, max_nodes).build()


def document_of(data: Any, file: str) -> YamlDocument:
    """Wrap data that is in memory already: nothing of it has a place."""
    return YamlDocument(file, _frozen(data))


def _frozen(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _frozen(value) for key, value in data.items()}
    return tuple(map(_frozen, data)) if isinstance(data, list | tuple) else data


class _Builder:
    def __init__(self, text: str, file: str, max_nodes: int) -> None:
        self.file = file
        self.max_nodes = max_nodes
        self.text = text
        self.lines = _LINE_BREAK.split(text)
        self.collect = Collector()
        self.document = YamlDocument(file=file, data=None)
        self.nodes = 0
        self.ends = Ends()
        self.events = self._events()

    def build(self) -> YamlDocument:
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                self._document(event)
        self.collect.raise_errors()
        if self.document.data is None:
            raise self._fail("CC015", "the file is empty", None, "start from `crosscast init`")
        self.document.marks = self.ends.marks(self.lines, self.document.span)
        return self.document

    def _events(self) -> Iterator[Event]:
        """Yield the parser's events; its exceptions become diagnostics."""
        try:
            yield from YAML(typ="safe", pure=True).parse(self.text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            span = self._span_at(mark.line, mark.column) if mark else None
            problem = " ".join(str(error.problem or error.context or "malformed").split())
            raise self._fail("CC006", problem, span) from None
        except ReaderError as error:
            span = self._at_offset(error.position) if isinstance(error.position, int) else None
            raise self._fail("CC014", "character not allowed in YAML", span) from None
        except Exception as error:  # includes failed assertions and conversions in the parser
            reason = (str(error).splitlines() or ["malformed"])[0]
            raise self._fail("CC006", reason, None) from None

    def _fail(self, code: str, message: str, span: Span | None, hint: str = "") -> DiagnosticError:
        return DiagnosticError(Diagnostic(code=code, message=message, span=span, hint=hint))

    def _span_at(self, line: int, column: int, end_column: int | None = None) -> Span:
        text = self.lines[line] if line < len(self.lines) else ""
        return Span(self.file, line + 1, column + 1, end_column, text)

    def _at_offset(self, offset: int) -> Span:
        before = _LINE_BREAK.split(self.text[:offset])
        return self._span_at(len(before) - 1, len(before[-1]))

    def _span(self, start: Event, end: Event | None = None) -> Span:
        first, last = start.start_mark, (end or start).end_mark
        end_column = last.column + 1 if last.line == first.line else None
        return self._span_at(first.line, first.column, end_column)

    def _report(self, code: str, message: str, event: Event, hint: str = "") -> None:
        self.collect.add(Diagnostic(code=code, message=message, span=self._span(event), hint=hint))

    def _document(self, start: DocumentStartEvent) -> None:
        if self.document.values:
            raise self._fail("CC011", "more than one document", self._span(start))
        if start.version not in (None, (1, 2)):
            version = ".".join(map(str, start.version))
            raise self._fail("CC006", f"YAML {version}; recipes are YAML 1.2", self._span(start))
        self.document.data = self._value(next(self.events), ())

    def _value(self, event: Event, path: PathKey) -> Any:
        """Return the value that starts with `event`, taking its events from the stream."""
        self._count(event, path)
        self.document.values[path] = self._span(event)
        if isinstance(event, AliasEvent):
            self._report("CC010", f"alias *{event.anchor}", event, "write the value out")
            return None
        assert isinstance(event, ScalarEvent | CollectionStartEvent)  # by the parser's grammar
        self._refuse_properties(event)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, path)
        if isinstance(event, CollectionStartEvent):
            items: list[Any] = []
            while not isinstance(item := next(self.events), CollectionEndEvent):
                items.append(self._value(item, (*path, len(items))))
            self.document.values[path] = self._span(event, item)
            self._ends(path, event, item)
            return tuple(items)
        self._ends(path, event, event)
        return self._scalar(event)

    def _count(self, event: Event, path: PathKey) -> None:
        self.nodes += 1
        if self.nodes > self.max_nodes:
            raise self._fail("CC008", f"more than {self.max_nodes} values", self._span(event))
        if len(path) > MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise self._fail("CC008", message, self._span(event))

    def _refuse_properties(self, event: ScalarEvent | CollectionStartEvent) -> None:
        if event.anchor:
            hint = "write the value out where it is needed"
            self._report("CC010", f"anchor &{event.anchor}", event, hint)
        if event.tag is not None:
            self._report("CC009", f"tag {event.tag}", event, "recipes contain plain values")

    def _mapping(self, start: MappingStartEvent, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(event := next(self.events), CollectionEndEvent):
            key = self._key(event, path)
            if key is None:
                self._value(next(self.events), (*path, ""))
            elif key in result:
                first = f"first given in line {self.document.keys[(*path, key)].line}"
                self._report("CC007", f"duplicate key {key!r}", event, first)
                self._value(next(self.events), (*path, ""))
            else:
                self.document.keys[(*path, key)] = self._span(event)
                self._ends((*path, key), event, event)
                result[key] = None  # detects duplicates within its own value, too
                result[key] = self._value(next(self.events), (*path, key))
        self.document.values.pop((*path, ""), None)
        self.document.values[path] = self._span(start, event)
        self._ends(path, start, event)
        return result

    def _ends(self, path: PathKey, start: Event, end: Event) -> None:
        """Note where a value ends; one in blocks ends where its last part does."""
        block = isinstance(start, CollectionStartEvent) and not start.flow_style
        text = isinstance(start, ScalarEvent) and start.style in ("|", ">")
        if not block and not text:
            self.ends.add(path, end.end_mark.line, end.end_mark.column)

    def _key(self, event: Event, path: PathKey) -> str | None:
        """Return the key that starts with `event`; None, after a report, if it is not a string."""
        if isinstance(event, ScalarEvent) and not event.anchor and event.tag is None:
            self._count(event, path)
            if event.implicit[0] and event.value == "<<":
                self._report("CC010", "merge key <<", event, "write the values out")
                return None
            if not event.implicit[0] or not _is_special(event.value):
                return self._scalar_text(event)
            self._report("CC012", "a key must be a string", event, f'write "{event.value}"')
            return None
        self._report("CC012", "a key must be a plain string", event)
        self._value(event, (*path, ""))
        return None

    def _scalar_text(self, event: ScalarEvent) -> str:
        text: str = event.value
        if _SURROGATE.search(text):
            self._report("CC014", "unpaired surrogate", event)
        return text

    def _scalar(self, event: ScalarEvent) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return self._scalar_text(event)
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        integer = _INTEGER.fullmatch(text) is not None
        if not integer and not _FLOAT.fullmatch(text):
            if _NOT_FINITE.fullmatch(text):
                self._report("CC013", f"{text} is not a finite number", event)
            return self._scalar_text(event)
        if len(text) > MAX_NUMBER_LENGTH:
            self._report("CC013", f"a number of more than {MAX_NUMBER_LENGTH} characters", event)
            return None
        return self._integer(text, event) if integer else self._float(text, event)

    def _integer(self, text: str, event: ScalarEvent) -> int:
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        value = int(text, base)
        if abs(value) >= 2**63:
            self._report("CC013", "the integer does not fit into 64 bits", event)
        return value

    def _float(self, text: str, event: ScalarEvent) -> float:
        value = float(text)
        if not math.isfinite(value):
            self._report("CC013", f"{text} is too large for a float", event)
        if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
            self._report("CC013", f"{text} is too small for a float", event)
        return value + 0.0  # no negative zero


def _is_special(text: str) -> bool:
    """Whether a plain scalar is not a string."""
    patterns = (_INTEGER, _FLOAT, _NOT_FINITE)
    return text in _NULL or text in _BOOL or any(p.fullmatch(text) for p in patterns)


def free_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping without its free `x-...` keys."""
    return {key: value for key, value in data.items() if not key.startswith("x-")}
