"""Expansion of shell words: variables, defaults, arrays and arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.readers.shell.arithmetic import calculate, changed_in
from crosscast_reading.readers.shell.edits import edited, raw, used
from crosscast_reading.readers.shell.text import (
    Array,
    Piece,
    ShellText,
    Variable,
    Word,
    joined,
    places_of,
    reason_of,
    split_fields,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPANSION = re.compile(
    r"\$\{(?P<length>\#)?(?P<indirect>!)?(?P<name>\w++|[@*#?$-])(?:\[(?P<index>[^\]]*)\])?"
    r"(?P<rest>.*)\}",
    re.S,
)
_WHOLE = re.compile(r"\s*-?(0|[1-9]\d{0,17})\s*", re.ASCII)
_QUOTED = frozenset({"string", "raw_string", "ansi_c_string", "translated_string"})
"""They are a word even if it is empty."""


@dataclass(slots=True)
class Scope:
    """Variables, and the arguments of a script or function."""

    variables: dict[str, Variable] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    arguments: tuple[Word, ...] | None = None
    """None for the script itself, whose caller is unknown."""
    given: dict[str, Word] = field(default_factory=dict)
    """Variables set by the system that starts the script, from `#SBATCH` lines."""

    def copy(self) -> Scope:
        """Return a copy whose changes do not affect this scope."""
        return Scope(dict(self.variables), set(self.exported), self.arguments, self.given)

    def shift(self, count: str) -> None:
        """Forget the first arguments; all are unknown after an unknown number."""
        known = self.arguments is not None and count.isdecimal()
        self.arguments = (self.arguments or ())[int(count) :] if known else None

    def word(self, name: str) -> Word | None:
        """Return the value of a variable, None if it has none or is an array."""
        value = self.variables.get(name, self.given.get(name))
        return None if isinstance(value, Array) else value

    def number(self, name: str) -> int | None:
        """Return the whole number that a variable holds, without leading zeros."""
        text = text_of(self.word(name) or ()) or ""
        return int(text) if _WHOLE.fullmatch(text) else None


class Expander:
    """Expands nodes of one text in one scope."""

    def __init__(
        self, text: ShellText, scope: Scope, output: Callable[[Node, Expander], Word | None]
    ) -> None:
        """Take a text, a scope and a function that returns the output of simple commands."""
        self.text = text
        self.scope = scope
        self.output = output

    def words(self, node: Node) -> list[Word]:
        """Return the words that a node of a command becomes."""
        inner = node.children[1] if node.type == "string" and node.child_count == 3 else node
        elements = self._all_of(inner)
        if elements is not None:
            place = self.text.place(node)
            if node.type == "string" and "*" in self.text.of(inner):
                return [used(joined(elements, place), place, quoted=True)]
            if node.type == "string":
                return [used(word, place, quoted=True) for word in elements]
            return [f for w in elements for f in split_fields(used(w, place, quoted=False))]
        return split_fields(self.word(node)) or [()] * (node.type in _QUOTED)

    def _all_of(self, node: Node) -> tuple[Word, ...] | None:
        """Return every element, if the node is `${A[@]}` or `$@`."""
        match = re.fullmatch(r"\$\{?(\w+\[[@*]\]|[@*])\}?", self.text.of(node))
        if not match:
            return None
        name = match[1].rstrip("[@*]")
        if not name:
            return self.scope.arguments
        value = self.scope.variables.get(name)
        if isinstance(value, Array):
            return tuple(value.words)
        return None if value is None else (value,)

    def word(self, node: Node, *, quoted: bool = False) -> Word:
        """Return a node as one word before field splitting."""
        text = self.text
        match node.type:
            case "word" | "number" | "extglob_pattern" | "regex" | "special_character":
                return text.literal(node.start_byte, node.end_byte, quoted=False)
            case "raw_string":
                return raw(text, node.start_byte + 1, node.end_byte - 1)
            case "ansi_c_string":
                return raw(text, node.start_byte + 2, node.end_byte - 1)
            case "string" | "translated_string":
                return self._inside(node, node.start_byte, node.end_byte)
            case "concatenation" | "command_name":
                return tuple(p for child in node.children for p in self.word(child))
            case "simple_expansion":
                shown = text.of(node).lstrip(" \t\n\\")
                return self._variable(shown[1:], text.place(node), shown, quoted)
            case "expansion":
                return self._expansion(node, quoted)
            case "arithmetic_expansion":
                return self.arithmetic(node)
            case "command_substitution":
                substitution = self.output(node, self)
                if substitution is not None:
                    return used(substitution, text.place(node), quoted=quoted)
                return self.unknown(node, "the output of a command", quoted)
            case "brace_expression":
                return self.unknown(node, "a brace expansion")
            case "array":
                return joined(self.elements(node), text.place(node))
            case _:
                return text.literal(node.start_byte, node.end_byte, quoted=quoted)

    def elements(self, node: Node) -> list[Word]:
        """Return the words of `(a b c)`."""
        skipped = ("(", ")", "comment")
        return [w for c in node.children if c.type not in skipped for w in self.words(c)]

    def unknown(self, node: Node, reason: str, quoted: bool = False) -> Word:
        """Return an unknown word."""
        place = self.text.place(node)
        shown = " ".join(self.text.of(node).split())
        return (Piece(text=shown, span=place, known=False, reason=reason, splits=not quoted),)

    def _inside(self, node: Node, start: int, end: int) -> Word:
        """Return the contents of double quotes or a here-document."""
        pieces: list[Piece] = []
        at = start
        for child in node.children:
            if child.type in ("string_content", "heredoc_content"):
                continue
            if child.type in ('"', '$"'):
                pieces += self.text.literal(at, child.start_byte, quoted=True)
                at = child.end_byte
                continue
            # tree-sitter takes blanks before a dollar sign for a part of it
            shown = self.text.of(child)
            start = child.start_byte + len(shown) - len(shown.lstrip(" \t\n\\"))
            pieces += self.text.literal(at, start, quoted=True)
            pieces += self.word(child, quoted=True)
            at = child.end_byte
        pieces += self.text.literal(at, end, quoted=True)
        return tuple(pieces)

    def body(self, node: Node) -> Word:
        """Return the text of a here-document whose delimiter is not quoted."""
        return self._inside(node, node.start_byte, node.end_byte)

    def _variable(self, name: str, place: Span, shown: str, quoted: bool) -> Word:
        value = self._value(name)
        match value:
            case Array(words) if name in ("@", "*"):
                value = joined(words, place)
            case Array(words):
                value = next(iter(words), ())
        if value is not None:
            return used(value, place, quoted=quoted)
        if name.isdigit() or name in "@*#":
            reason = "given to the script when it is started"
        else:
            reason = f"the variable {name} is not set in this script"
        return (Piece(text=shown, span=place, known=False, reason=reason, splits=not quoted),)

    def _value(self, name: str) -> Variable | None:
        arguments = self.scope.arguments
        if name in ("@", "*"):
            return None if arguments is None else Array(arguments)
        if name == "#" and arguments is not None:
            return (Piece(text=str(len(arguments)), span=Span(self.text.file, 1, 1)),)
        if name.isdigit() and name != "0" and arguments is not None:
            index = int(name) - 1
            return arguments[index] if index < len(arguments) else ()
        return self.scope.variables.get(name, self.scope.given.get(name))

    def _expansion(self, node: Node, quoted: bool) -> Word:
        shown = self.text.of(node).lstrip(" \t\n\\")
        place = self.text.place(node)
        match = _EXPANSION.fullmatch(shown)
        if not match or match["indirect"]:
            return self.unknown(node, "an expansion that is not understood", quoted)
        name, index, rest = match["name"], match["index"], match["rest"]
        value = self._value(name)
        if match["length"]:
            return self._length(node, value, index, quoted)
        if isinstance(value, Array) or index is not None:
            return self._element(node, value, index, rest, quoted)
        if not rest:
            return self._variable(name, place, shown, quoted)
        operator = re.match(r":?[-=+?]", rest)
        if operator is None:
            return self._edited(node, value, rest, quoted)
        empty_counts = operator.group().startswith(":")
        text = None if value is None else text_of(value)
        other = self._default(node, quoted)
        match operator.group().lstrip(":"):
            case "+":
                if value is None:
                    return self.unknown(node, f"the variable {name} is not set here", quoted)
                if empty_counts and text is None:
                    return self.unknown(node, f"{name} may be empty: {reason_of(value)}", quoted)
                return () if empty_counts and not text else other
            case "?":
                return self._variable(name, place, shown, quoted)
            case sign:
                if value is None or (empty_counts and text == ""):
                    word = used(other, place, quoted=quoted)
                    if sign == "=":
                        self.scope.variables[name] = word
                    return word
                return used(value, place, quoted=quoted)

    def _default(self, node: Node, quoted: bool) -> Word:
        """Return the word after the operator of `${X:-word}`."""
        inner = [c for c in node.children if c.type not in ("${", "}", "variable_name")]
        pieces: list[Piece] = []
        at: int | None = None
        for child in inner:
            if at is None:  # the operator
                at = child.end_byte
                continue
            pieces += self.text.literal(at, child.start_byte, quoted=quoted)
            pieces += self.word(child, quoted=quoted)
            at = child.end_byte
        return tuple(pieces)

    def _length(self, node: Node, value: Variable | None, index: str | None, quoted: bool) -> Word:
        match value, index:
            case Array(words), "@" | "*":
                if all(p.known for w in words for p in w):
                    return self._number(node, str(len(words)), words)
            case tuple(word), _:
                text = text_of(word)
                if text is not None:
                    return self._number(node, str(len(text)), (word,))
        return self.unknown(node, "a length that is not known", quoted)

    def _number(self, node: Node, text: str, made_of: tuple[Word, ...]) -> Word:
        via = tuple(dict.fromkeys(p for word in made_of for p in places_of(word)))
        return (Piece(text=text, span=self.text.place(node), via=via[:4], origin="derived"),)

    def _element(
        self, node: Node, value: Variable | None, index: str | None, rest: str, quoted: bool
    ) -> Word:
        place = self.text.place(node)
        if isinstance(value, Array) and not rest:
            if index in ("@", "*"):
                return used(joined(value.words, place), place, quoted=quoted)
            position = calculate(index or "0", self.scope.number)
            numbered = enumerate(value.words * 2, -len(value.words))
            element = next((word for number, word in numbered if number == position), None)
            if element is not None:
                return used(element, place, quoted=quoted)
        return self.unknown(node, "an element that is not known", quoted)

    def _edited(self, node: Node, value: Word | None, rest: str, quoted: bool) -> Word:
        """Return `${X//a/b}`, `${X#a}`, `${X%a}`, `${X:1:2}` of a known text."""
        word = value or ()
        text = text_of(word)
        result = None if text is None or len(text) > 500 else edited(text, rest)
        if value is None or result is None:
            reason = reason_of(word) or "an expansion that is not understood"
            return self.unknown(node, reason, quoted)
        via = (self.text.place(node),)
        span = word[0].span if word else via[0]
        return (Piece(text=result, span=span, via=via, origin="derived", splits=not quoted),)

    def arithmetic(self, node: Node) -> Word:
        """Return the value of `$((...))` and `((...))`; what it changes is unknown afterwards."""
        shown = self.text.of(node).lstrip(" \t\n\\")
        inside = re.sub(r"^\$?(\(\(|\[)|(\)\)|\])$", "", shown)
        made_of: list[Word] = []

        def lookup(name: str) -> int | None:
            made_of.append(self.scope.word(name) or ())
            return self.scope.number(name)

        value = calculate(inside, lookup)
        for name in changed_in(inside):
            reason, place = "arithmetic changes it", self.text.place(node)
            value_now = Piece(text="${" + name + "}", span=place, known=False, reason=reason)
            self.scope.variables[name] = (value_now,)
        if value is None:
            reasons = [reason_of(w) for w in made_of if reason_of(w)]
            return self.unknown(node, reasons[0] if reasons else "arithmetic with unknown parts")
        return self._number(node, str(value), tuple(made_of))
