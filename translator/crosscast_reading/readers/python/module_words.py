"""The words of a module, and the calls of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module


def words_of(module: Module) -> Iterator[str]:
    """Yield the names and short strings of a module, without comments and docstrings."""
    for node in module.nodes:
        for name in ("id", "attr", "arg", "name"):
            word = getattr(node, name, None)
            if isinstance(word, str):
                yield word
        match node:
            case ast.Constant(value=str(text)) if len(text) < 80:
                if not isinstance(module.parent(node), ast.Expr):
                    yield text


def function_calls(function: Function | ast.AST, module: Module) -> list[Call]:
    """Return the calls in a function, in source order."""
    inside = [node for node in walk(function) if isinstance(node, ast.Call)]
    inside.sort(key=lambda node: (node.lineno, node.col_offset))
    return [module.call(node) for node in inside]
