"""Modules of Lightning that step their optimizers themselves."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program


def steps_by_hand(program: Program) -> bool:
    """Whether a Lightning module of the program steps its optimizers itself."""
    return any(map(switches_off, (n for m in program.modules for n in m.every(ast.Assign))))


def switches_off(node: ast.AST) -> bool:
    """Whether a statement switches the automatic steps off."""
    match node:
        case ast.Assign(
            targets=[ast.Attribute(attr="automatic_optimization"), *_],
            value=ast.Constant(value=False),
        ):
            return True
    return False
