"""Which of two lines of a function certainly stands before the other."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_BLOCKS = ("body", "orelse", "finalbody")


def stands_before(first: ast.AST, second: ast.AST, module: Module) -> bool:
    """Whether the statement with one node comes before that with the other in some block.

    Lines on two branches of a condition have no such block.
    """
    around = _blocks(second, module)
    return any(
        block is other and mine < place
        for block, mine in _blocks(first, module)
        for other, place in around
    )


def _blocks(node: ast.AST, module: Module) -> list[tuple[list[ast.stmt], int]]:
    """Return the blocks of statements around a node within its function, with its place there."""
    blocks: list[tuple[list[ast.stmt], int]] = []
    here, around = node, module.parent(node)
    while around is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        for name in _BLOCKS:
            block = getattr(around, name, None)
            if isinstance(block, list) and here in block:
                blocks.append((block, block.index(here)))
        here, around = around, module.parent(around)
    return blocks
