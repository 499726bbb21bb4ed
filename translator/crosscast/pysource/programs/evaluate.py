"""Ask the program what an expression is worth.

Evaluators of every kind of node ask here for the values of their parts, and the program, which
keeps what it has answered, knows the evaluator of each: so none of them imports another.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module


def evaluate(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression at its place in a module."""
    if isinstance(node, ast.Constant):
        return Known(node.value)
    program = module.program
    return program.values.get(node, module)
