"""Branches, loops and merged values of shell scripts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast.readers.shell.expand import Scope
from crosscast.readers.shell.text import Array, Piece, ShellText, Variable, Word, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS = frozenset({"[", "[[", "test", "((", "true", "false", ":"})


def branches(node: Node) -> Iterable[tuple[Node | None, list[Node]]]:
    """Yield the condition (None for else) and the statements of every branch of an if."""
    clauses = [node, *(c for c in node.children if c.type in ("elif_clause", "else_clause"))]
    for clause in clauses:
        if clause.type == "else_clause":
            yield None, clause.children[1:]
            continue
        then = next((i for i, c in enumerate(clause.children) if c.type == "then"), None)
        if then is None:
            continue
        conditions = [c for c in clause.children[1:then] if c.is_named and c.type != "comment"]
        stops = ("elif_clause", "else_clause", "fi")
        body = [c for c in clause.children[then + 1 :] if c.type not in stops]
        if conditions:
            yield conditions[-1], body


def merged(ends: list[Scope], condition: str) -> Scope:
    """Return the scope after several branches; variables that differ get several values."""
    first = ends[0].copy()
    for other in ends[1:]:
        first.exported |= other.exported
    names = {name for scope in ends for name in scope.variables}
    for name in names:
        values = [scope.variables.get(name) for scope in ends]
        given = [value for value in values if value is not None]
        if all(_same(value, given[0]) for value in given):
            first.variables[name] = given[0]
            continue
        texts = [None if isinstance(v, Array) or v is None else text_of(v) for v in values]
        options = tuple(dict.fromkeys(text for text in texts if text is not None))
        example = next((v for v in given if not isinstance(v, Array) and v), None)
        place = example[0].span if example and not isinstance(example, Array) else Span("", 1, 1)
        known = len(texts) == len([x for x in texts if x is not None])
        reason = (
            f"it depends on a condition: {condition}"
            if condition
            else "it depends on the branch taken"
        )
        first.variables[name] = not_known(name, place, reason, options if known else ())
    return first


def _same(variable: Variable, other: Variable) -> bool:
    if isinstance(variable, Array) or isinstance(other, Array):
        return variable == other
    return variable == other or (
        text_of(variable) is not None and text_of(variable) == text_of(other)
    )


def not_known(name: str, place: Span, reason: str, options: tuple[str, ...] = ()) -> Word:
    """Return the value of an unknown variable."""
    shown = "${" + name + "}"
    return (Piece(text=shown, span=place, known=False, reason=reason, options=options),)


def appended_to(old: Variable | None, new: Variable, place: Span) -> Variable:
    """Return the value after `NAME+=new`."""
    if old is None:
        return new
    if isinstance(old, Array) or isinstance(new, Array):
        left = old.words if isinstance(old, Array) else (old,)
        right = new.words if isinstance(new, Array) else (new,)
        return Array((*left, *right))
    return (*old, *new)


def is_test(node: Node, text: ShellText) -> bool:
    """Return whether a command only tests something."""
    if node.type in ("test_command", "negated_command"):
        return True
    return node.type == "command" and text.of(node.children[0]) in _TESTS


def short(text: ShellText, node: Node) -> str:
    """Return the text of a node on one line, cut if it is long."""
    return " ".join(text.of(node).split())[:120]


def assigned_in(node: Node, text: ShellText) -> set[str]:
    """Return the variables that are assigned anywhere in a statement."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type == "variable_assignment":
            name = inner.child_by_field_name("name")
            if name is not None:
                found.add(text.of(name))
        waiting += inner.children
    return found
