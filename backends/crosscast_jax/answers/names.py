"""Whether a name is set or read within a part of a program."""

from __future__ import annotations

import ast


def sets(around: ast.AST, name: str, but: ast.AST | None = None) -> bool:
    """Whether something sets a name, besides in one statement."""
    apart = {*ast.walk(but)} if but is not None else set()
    return any(node not in apart for node in _uses(around, name, ast.Store))


def reads(around: ast.AST, name: str, after: int = 0) -> bool:
    """Whether something reads a name, behind a line."""
    return any(node.lineno > after for node in _uses(around, name, ast.Load))


def _uses(around: ast.AST, name: str, kind: type[ast.expr_context]) -> list[ast.Name]:
    names = (node for node in ast.walk(around) if isinstance(node, ast.Name))
    return [node for node in names if node.id == name and isinstance(node.ctx, kind)]
