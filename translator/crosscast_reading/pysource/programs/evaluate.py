"""Ask the program what an expression is worth.

Evaluators of every kind of node ask here for the values of their parts, and the program, which
keeps what it has answered, knows the evaluator of each: so none of them imports another.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.budget import MAX_BITS
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def evaluate(node: ast.expr, module: Module) -> Value:
    """Return the value of an expression at its place in a module."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
            return Unknown(module.text(node)[:200], "a number that no float holds")
        return Known(node.value)
    return module.program.values.get(node, module)
