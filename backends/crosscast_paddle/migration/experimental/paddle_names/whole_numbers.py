"""Quotients of whole numbers, which were whole in Paddle 1 and are fractions since Paddle 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_paddle.migration.experimental.paddle_names.call_forms import given
from crosscast_paddle.migration.experimental.paddle_names.names import plain
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module

_WHOLE = ("layers.shape", "layers.argmax", "layers.argmin", "layers.rank")
_TYPED = {
    "data": "name shape dtype",
    "layers.data": "name shape append_batch_size dtype",
    "layers.cast": "x dtype",
    "layers.fill_constant": "shape dtype",
    "layers.range": "start end step dtype",
}
"""Functions with a type, and their positional parameters up to it."""
_KEEPING = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
_DEPTH = 6


def divided_whole_numbers(module: Module) -> Iterator[str]:
    """Yield a note for each quotient `x / y` of whole numbers in a module with names of fluid."""
    for node in module.every(ast.BinOp):
        if not isinstance(node.op, ast.Div) or module.is_dead(node):
            continue
        sides = (_whole(node.left, module), _whole(node.right, module))
        if None not in sides and True in sides:
            yield (
                f"{module.text(node)} (line {node.lineno}) is a whole number in Paddle 1 and a "
                f"fraction since Paddle 2: write // if the program was written for Paddle 1"
            )


def _whole(node: ast.expr, module: Module, depth: int = 0) -> bool | None:
    """Whether an expression is a tensor of whole numbers: True; a whole literal: False; or None."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return False if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, _KEEPING):
        sides = (_whole(node.left, module, depth + 1), _whole(node.right, module, depth + 1))
        return None if None in sides else True in sides
    if isinstance(node, ast.Subscript):
        return _whole(node.value, module, depth + 1) or None
    if isinstance(node, ast.Name):
        found = list(bindings_of(node.id, node, module))
        made = [b.assigned is not None and _whole(b.assigned, module, depth + 1) for b in found]
        return True if made and all(made) else None
    return _is_made_whole(node, module) or None


def _is_made_whole(node: ast.expr, module: Module) -> bool:
    if not isinstance(node, ast.Call):
        return False
    names = {name for name in module.call(node).names if name.startswith("paddle.fluid.")}
    if len(names) != 1:
        return False
    name = plain(names.pop())
    if name in _WHOLE:
        return True
    dtype = given(node, _TYPED[name], "dtype") if name in _TYPED else None
    return isinstance(dtype, ast.Constant) and str(dtype.value).startswith(("int", "uint"))
