"""The nodes within a node, several times as fast as by `ast`, without `Load()` and its like."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

_PLAIN_FIELDS = frozenset(
    {
        *("ctx", "id", "attr", "arg", "module", "level", "simple", "is_async", "conversion"),
        *("type_comment", "kind", "type_ignores"),
    }
)
"""Fields that hold texts and numbers, or say how a name is used."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def walk(node: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes within it, outer ones first."""
    nodes = [node]
    _add_inner(nodes, nodes)  # which grows meanwhile
    return nodes


def inner_nodes(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes directly within some nodes."""
    inside: list[ast.AST] = []
    _add_inner(nodes, inside)
    return inside


def _add_inner(nodes: Iterable[ast.AST], inside: list[ast.AST]) -> None:
    add = inside.append
    fields_of = _FIELDS
    for outer in nodes:
        kind = outer.__class__
        fields = fields_of.get(kind)
        if fields is None:
            fields = fields_of[kind] = tuple(f for f in kind._fields if f not in _PLAIN_FIELDS)
        for name in fields:
            value: Any = getattr(outer, name, None)
            if value.__class__ is list:
                for inner in value:
                    if isinstance(inner, ast.AST):
                        add(inner)
            elif isinstance(value, ast.AST):
                add(value)


def identifier(node: ast.expr) -> str:
    """Return the name, or the last part of a dotted one; empty for any other expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names that occur in nodes."""
    return {each.id for node in nodes for each in walk(node) if isinstance(each, ast.Name)}


def dotted_text(node: ast.expr) -> str:
    """Return a name as it is written, `a.b.c`; empty for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the argument that a call gives under a name."""
    return next((given.value for given in call.keywords if given.arg == name), None)
