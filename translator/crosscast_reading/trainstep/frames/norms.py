"""Norms in an expression, through the names that it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_DEPTH = 4
_NORMS = frozenset({"norm", "vector_norm", "l2_norm", "global_norm", "get_total_norm"})


def parts_of(node: ast.expr, module: Module, depth: int = 0) -> Iterator[ast.AST]:
    """Yield the nodes of an expression and of what its names are assigned."""
    for part in walk(node):
        yield part
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and depth < _DEPTH:
            for binding in definitions(part, module):
                value = binding.value
                here = binding.module is module and binding.kind in ("assign", "augment")
                if here and value is not None and part not in walk(value):
                    yield from parts_of(value, module, depth + 1)


def holds_norm(node: ast.AST, module: Module) -> bool:
    """Whether an expression is a norm or a name for what holds one."""
    return isinstance(node, ast.expr) and any(is_norm(part) for part in parts_of(node, module))


def is_norm(node: ast.AST) -> bool:
    """Whether an expression is a norm: `p.grad.norm()`, `total ** 0.5`, `sqrt(total)`."""
    match node:
        case ast.Call(func=function) if identifier(function) in _NORMS | {"sqrt"}:
            return True
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=0.5)):
            return True
        case ast.BinOp(
            op=ast.Pow(),
            right=ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Div()),
        ):
            return True
    return False
