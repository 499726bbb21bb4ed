"""Statements that can never run."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from crosscast_reading.pysource.syntax.truth import is_combination, of_combination

_LEAVE = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXITS = frozenset({"sys.exit", "os._exit"})


def constant_truth(test: ast.expr) -> bool | None:
    """Return the truth of a condition if its text alone decides it: `False`, `0`, `x and False`."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    return of_combination(test, constant_truth) if is_combination(test) else None


def leaves(statement: ast.stmt) -> bool:
    """Whether nothing after a statement runs."""
    if isinstance(statement, _LEAVE):
        return True
    if isinstance(statement, ast.If):
        return leaves_block(statement.body) and leaves_block(statement.orelse)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and f"{function.value.id}.{function.attr}" in _EXITS
        )
    return False


def leaves_block(block: Sequence[ast.stmt]) -> bool:
    """Whether nothing after a block runs."""
    return any(map(leaves, block))


def dead_rest(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Return the statements of a block behind the one that leaves it."""
    for place, statement in enumerate(block):
        kind = statement.__class__
        if (kind in _LEAVE or kind is ast.If or kind is ast.Expr) and leaves(statement):
            return block[place + 1 :]
    return ()
