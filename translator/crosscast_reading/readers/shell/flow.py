"""Branches, loops and merged values of shell scripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.readers.shell.arithmetic import changed_in
from crosscast_reading.readers.shell.expand import Scope
from crosscast_reading.readers.shell.text import (
    Array,
    Piece,
    ShellText,
    Variable,
    Word,
    pieces_of,
    text_of,
)
from crosscast_reading.readers.shell.words import names_set

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS = frozenset({"test", "true", "false", ":", "(("})


def branches(node: Node) -> Iterable[tuple[Node | None, list[Node]]]:
    """Yield the condition (None for else) and the statements of every branch of an if."""
    clauses = [node, *(c for c in node.children if c.type in ("elif_clause", "else_clause"))]
    for clause in clauses:
        if clause.type == "else_clause":
            yield None, clause.children[1:]
            continue
        then = [c.type for c in clause.children].index("then")
        conditions = [c for c in clause.children[1:then] if c.is_named and c.type != "comment"]
        stops = ("elif_clause", "else_clause", "fi")
        body = [c for c in clause.children[then + 1 :] if c.type not in stops]
        yield conditions[-1], body


def merged(ends: list[Scope], condition: str) -> Scope:
    """Return the scope after several branches; variables that differ get several values.

    A variable that some branches leave unset is empty after them.
    """
    first = ends[0].copy()
    for other in ends[1:]:
        first.exported |= other.exported
    names = {name for scope in ends for name in scope.variables}
    for name in names:
        values = [scope.variables.get(name) for scope in ends]
        given = [value for value in values if value is not None]
        texts = [_plain(value) for value in values]
        same = None not in texts and len({*texts}) == 1
        if same or all(value == values[0] for value in values):
            first.variables[name] = given[0]
            continue
        place = next((p.span for value in given for p in pieces_of(value)), Span("", 1, 1))
        reason = (
            f"it depends on a condition: {condition}"
            if condition
            else "it depends on the branch taken"
        )
        options = () if None in texts else tuple(dict.fromkeys(map(str, texts)))
        first.variables[name] = not_known(name, place, reason, options)
    return first


def _plain(value: Variable | None) -> str | None:
    """Return the text of a variable, empty if it is not set, None if it is unknown or an array."""
    if value is None:
        return ""
    return text_of(value) if isinstance(value, tuple) else None


def not_known(name: str, place: Span, reason: str, options: tuple[str, ...] = ()) -> Word:
    """Return the value of an unknown variable."""
    shown = "${" + name + "}"
    return (Piece(text=shown, span=place, known=False, reason=reason, options=options),)


def appended_to(old: Variable | None, new: Variable, place: Span) -> Variable:
    """Return the value after `NAME+=new`."""
    match old, new:
        case Array(left), Array(right):
            return Array((*left, *right))
        case Array((first, *rest)), tuple():
            return Array(((*first, *new), *rest))
        case tuple(), Array(right):
            return Array((old, *right))
        case tuple(), tuple():
            return (*old, *new)
    return new


def is_test(node: Node, text: ShellText) -> bool:
    """Return whether a command only tests something."""
    if node.type in ("test_command", "negated_command"):
        return True
    return text.of(node.children[0]) in _TESTS


def short(text: ShellText, node: Node) -> str:
    """Return the text of a node on one line, cut if it is long."""
    return " ".join(text.of(node).split())[:120]


def assigned_in(node: Node, text: ShellText) -> set[str]:
    """Return the variables that are assigned anywhere in a statement."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        match inner.type, inner.children:
            case "variable_assignment", [name, *_]:
                names.add(text.of(name).partition("[")[0])
            case "command", [*children]:
                words = [child for child in children if child.type != "variable_assignment"]
                names.update(names_set([text.of(word).strip("\"'") for word in words]))
            case (("compound_statement" | "arithmetic_expansion"), [opening, *_]) if (
                opening.type != "{"
            ):
                names.update(changed_in(text.of(inner)))
        waiting += inner.children
    return names
