"""Expressions that decide at run time, as text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def is_plain(node: ast.expr) -> bool:
    """Whether an expression is a name, attribute or item: `args.level`, `config["level"]`."""
    return all(
        isinstance(part, ast.Name | ast.Attribute | ast.Subscript | ast.Constant)
        for part in walk(node)
    ) and not isinstance(node, ast.Constant)


def as_bool(node: ast.expr, module: Module) -> str:
    """Return the text of a condition, with `bool(...)` unless it is certainly a boolean."""
    text = module.text(node)
    if isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return text
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return text
    flag = flag_read(node, module)
    if flag is not None and (flag.action in ("store_true", "store_false") or flag.type == "bool"):
        return text
    return f"bool({text})"


def as_atom(node: ast.expr, module: Module) -> str:
    """Return the text of an expression, in parentheses unless it needs none anywhere."""
    text = module.text(node)
    simple = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Call | ast.JoinedStr
    return text if isinstance(node, simple) else f"({text})"


def negated(node: ast.expr, module: Module) -> str:
    """Return the text of the opposite condition."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return module.text(node.operand)
    return f"not {as_atom(node, module)}"
