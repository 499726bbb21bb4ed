"""Simple commands of shell scripts: assignments, exports, functions, nested shells."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.readers.shell.expand import Expander, Scope
from crosscast_reading.readers.shell.flow import appended_to, not_known
from crosscast_reading.readers.shell.output import output_of
from crosscast_reading.readers.shell.text import (
    Array,
    Piece,
    ShellText,
    Variable,
    Word,
    inner_text,
    joined,
    pieces_of,
    text_of,
)
from crosscast_reading.readers.shell.words import (
    before_shell,
    junk_after,
    lines_of,
    names_set,
    runs_input,
    shell_inside,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STEPS = 20_000
MAX_DEPTH = 12
MAX_PIECES = 2_000
MAX_LENGTH = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A simple command that the script starts."""

    words: tuple[Word, ...]
    exported: dict[str, Word]
    span: Span
    under: tuple[str, ...] = ()
    body: Word | None = None
    """Its here-document."""


@dataclass(slots=True)
class Commands(ABC):
    """The effects of simple commands on variables, and the programs they start."""

    file: str
    parse: Callable[[bytes], Node]
    scope: Scope = field(default_factory=Scope)
    started: list[Started] = field(default_factory=list)
    settings: list[tuple[str, Word, tuple[str, ...]]] = field(default_factory=list)
    """Exported variables, with the conditions of the export."""
    functions: dict[str, tuple[ShellText, Node]] = field(default_factory=dict)
    under: tuple[str, ...] = ()
    steps: int = 0
    depth: int = 0
    stopped: bool = False
    """Whether the following statements are unreachable: exit, return."""

    @abstractmethod
    def statement(self, node: Node, text: ShellText) -> None:
        """Follow one statement."""

    def run(self, text: ShellText) -> None:
        """Follow a whole text."""
        self.statement(self.parse(text.bytes), text)

    def expander(self, text: ShellText) -> Expander:
        """Return an expander for the present scope."""
        return Expander(text, self.scope, self._output)

    # assignments

    def _assign(self, node: Node, text: ShellText) -> str:
        name, element, _ = text.of(text.part(node, "name")).partition("[")
        place = text.place(node)
        value = self._value(node.child_by_field_name("value"), text)
        if element:
            value = not_known(name, place, "an element of it is changed")
        elif any(child.type == "+=" for child in node.children):
            value = appended_to(self.scope.variables.get(name), value, place)
        self.assign(name, value, place)
        return name

    def _value(self, value: Node | None, text: ShellText) -> Variable:
        if value is None:
            return ()
        expander = self.expander(text)
        if value.type == "array":
            return Array(tuple(expander.elements(value)))
        return tuple(replace(piece, splits=False) for piece in expander.word(value))

    def assign(self, name: str, value: Variable, place: Span) -> None:
        """Assign a value to a variable; a value that is too large becomes unknown."""
        pieces = pieces_of(value)
        if len(pieces) > MAX_PIECES or sum(len(p.text) for p in pieces) > MAX_LENGTH:
            reason = "the value is too long"
            value = (Piece(text="${" + name + "}", span=place, known=False, reason=reason),)
        self.scope.variables[name] = value
        if name in self.scope.exported and not isinstance(value, Array):
            self.settings.append((name, value, self.under))

    def _declare(self, node: Node, text: ShellText) -> None:
        word = text.of(node.children[0])
        options = [text.of(c) for c in node.children if c.type == "word"]
        exports = word == "export" or any("x" in o for o in options)
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                name = self._assign(child, text)
            else:
                name = text.of(child)
            if not exports:
                continue
            self.scope.exported.add(name)
            value = self.scope.word(name)
            if value is not None:
                self.settings.append((name, value, self.under))

    # commands

    def _command(self, node: Node, text: ShellText, body: Word | None = None) -> None:
        expander = self.expander(text)
        prefixed: dict[str, Word] = {}
        words: list[Word] = []
        end: int | None = None
        for child in node.children:
            if child.type == "variable_assignment":
                value = self._value(child.child_by_field_name("value"), text)
                name = text.of(text.part(child, "name"))
                prefixed[name] = () if isinstance(value, Array) else value
                continue
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                continue
            found_words = expander.words(child)
            gap = "" if end is None else text.slice(end, child.start_byte)
            if words and found_words and gap in ("\\\n", "\\\r\n"):
                words[-1] = (*words[-1], *found_words.pop(0))  # nothing divides them
            elif found_words and re.search(r"(^|[^\\])\\[ \t]$", gap):
                found_words[0] = (Piece(text=" ", span=text.place(child)), *found_words[0])
            words += found_words
            end = child.end_byte
        words += junk_after(text, node.end_byte)
        if not words:
            for variable, given in prefixed.items():
                self.assign(variable, given, text.place(node))
            return
        self.execute(tuple(words), prefixed, text.place(node), body)

    def execute(
        self,
        words: tuple[Word, ...],
        prefixed: dict[str, Word],
        span: Span,
        body: Word | None = None,
    ) -> None:
        """Execute a simple command with expanded words."""
        texts = [text_of(word) or "" for word in words]
        match texts:
            case ["exit" | "return", *_]:
                self.stopped = True
            case ["eval", *_]:
                self.inner(joined(words[1:], span))
            case [name, *_] if name in self.functions:
                self._call(self.functions[name], words[1:])
            case ["set", "--", *_]:
                self.scope.arguments = words[2:]
            case ["shift"]:
                self.scope.shift("1")
            case ["shift", count]:
                self.scope.shift(count)
            case _:
                changed = names_set(texts)
                reason = "it is read from input" if texts[0] == "read" else f"{texts[0]} changes it"
                for variable in changed:
                    self.assign(variable, not_known(variable, span, reason), span)
                self._start(words, prefixed, span, body)

    def _start(
        self,
        words: tuple[Word, ...],
        prefixed: dict[str, Word],
        span: Span,
        body: Word | None,
    ) -> None:
        script = shell_inside(words)
        if script is not None:
            before = self.scope
            self.scope = before.copy()
            self.scope.variables.update(prefixed)
            self.scope.exported |= set(prefixed)
            self.inner(script[1], wrapper=script[0])
            self.scope = before
            return
        if body is not None and runs_input(words):
            self.inner(body, wrapper=before_shell(words))
            return
        exported: dict[str, Word] = {}
        for name in sorted(self.scope.exported):
            value = self.scope.word(name)
            if value is not None:
                exported[name] = value
        exported |= prefixed
        self.started.append(
            Started(
                words=words,
                exported=exported,
                span=span,
                under=self.under,
                body=body,
            )
        )

    def inner(self, word: Word, wrapper: tuple[Word, ...] = ()) -> None:
        """Follow text that the script passes to a shell: eval, bash -c, a here-document."""
        if self.depth >= MAX_DEPTH:
            return
        text, unknown = inner_text(word, self.file)
        self.scope.variables.update(unknown)
        first = len(self.started)
        self.depth += 1
        stopped = self.stopped
        self.run(text)
        self.stopped = stopped
        self.depth -= 1
        self.started[first:] = [
            replace(command, words=(*wrapper, *command.words)) for command in self.started[first:]
        ]

    def _call(self, function: tuple[ShellText, Node], arguments: tuple[Word, ...]) -> None:
        if self.depth >= MAX_DEPTH:
            return
        text, body = function
        before = self.scope.arguments
        self.scope.arguments = arguments
        self.depth += 1
        self.statement(body, text)
        self.stopped = self.steps > MAX_STEPS
        self.depth -= 1
        self.scope.arguments = before

    def _redirected(self, node: Node, text: ShellText) -> None:
        body: Word | None = None
        for child in node.children:
            if child.type == "heredoc_redirect":
                body = self._body(child, text)
        for child in node.children:
            if child.type == "command":
                self._command(child, text, body)
            elif child.type not in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                self.statement(child, text)

    def _body(self, node: Node, text: ShellText) -> Word:
        parts = {child.type: child for child in node.children}
        body = parts.get("heredoc_body")
        if body is None:
            return ()
        if text.of(parts["heredoc_start"])[0] in "'\"\\":
            return tuple(
                Piece(text=line, span=text.span(offset))
                for offset, line in lines_of(text, body.start_byte, body.end_byte)
            )
        return self.expander(text).body(body)

    def _output(self, node: Node, expander: Expander) -> Word | None:
        return output_of(node, expander)
