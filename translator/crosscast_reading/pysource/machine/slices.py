"""What statements change, and on which of them another one depends."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from crosscast_reading.pysource.syntax.nodes import names_in, walk
from crosscast_reading.pysource.values import builtins


class Slice:
    """The statements of a block that one of them depends on, and the value that is wanted of it.

    Args:
        body: the block.
        awaited: an assignment, or a call such as `rate.assign(value)`.
        value: what it gives; by default, the value of an assignment.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        awaited: ast.Assign | ast.AugAssign | ast.Expr,
        value: ast.expr | None = None,
    ) -> None:
        self.body = body
        self.awaited = awaited
        self.value = awaited.value if value is None else value
        nodes = [node for statement in body for node in walk(statement)]
        self.around = {node for node in nodes if any(inner is awaited for inner in walk(node))}
        """The assignment, and the statements that it stands in."""
        written = {node: _written(node) for node in nodes if isinstance(node, ast.stmt)}
        needed = _needed(written, self)
        self.kept = {
            node
            for node, names in written.items()
            if names & needed or isinstance(node, ast.Return | ast.Break | ast.Continue)
        } | self.around


def _needed(written: dict[ast.stmt, set[str]], part: Slice) -> set[str]:
    """Return the names that an assignment depends on, through others and their conditions."""
    needed = names_in(part.value)
    while True:
        more = set(needed)
        for node, names in written.items():
            if node in part.around or names & needed:
                more |= _read_by(node)
        if more == needed:
            return needed
        needed = more


def _read_by(node: ast.stmt) -> set[str]:
    """Return the names that a statement itself reads."""
    match node:
        case ast.For(iter=header) | ast.If(test=header) | ast.While(test=header):
            return names_in(header)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
            return names_in(value)
        case ast.AnnAssign(value=ast.expr() as value):
            return names_in(value)
    return set()


def _written(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns to, and the lists that it appends to."""
    names: set[str] = set()
    for inner in walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend")):
                names.add(name)
    return names


def changed(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns to, or whose lists and entries it changes."""
    names: set[str] = set()
    for inner in walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=word)):
                if word in builtins.CHANGES:
                    names.add(name)
    return names
