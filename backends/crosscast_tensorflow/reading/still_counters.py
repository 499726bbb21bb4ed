"""Variables of TensorFlow that begin at 0: whether a program ever changes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_READS = frozenset({"value", "read_value", "numpy"})
_CHANGES = frozenset({"assign", "assign_add", "assign_sub"})
_LOOKS = frozenset(
    {"equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "cast", "print"}
)


def is_zero(node: ast.expr) -> bool:
    """Whether a value is 0, also as a tensor or as the initial value of a variable."""
    match node:
        case ast.Constant(value=0 | 0.0):
            return True
        case ast.Call(args=[first, *_]):
            return is_zero(first)
        case ast.Call(keywords=keywords):
            return any(k.arg == "initial_value" and is_zero(k.value) for k in keywords)
    return False


def stands_still(counter: ast.expr, module: Module) -> bool:
    """Whether a variable is created with 0, and nothing in the program gives it another value.

    Every use must be known: it is compared, read, or set to 0 again.
    """
    if not isinstance(counter, ast.Name | ast.Attribute):
        return False
    bound = definitions(counter, module)
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" else None
    if not isinstance(value, ast.Call) or not is_zero(value) or bound[0].path:
        return False
    if canonical(bound[0].module.call(value).name) != "tensorflow.Variable":
        return False
    return all(_keeps(use, where) for use, where in _uses(counter, module))


def _uses(counter: ast.Name | ast.Attribute, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield every place that reads the variable, or another one of its name."""
    for each in module.program.modules:
        for node in each.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                if type(node) is type(counter) and identifier(node) == identifier(counter):
                    yield node, each
            elif isinstance(node, ast.Constant) and node.value == identifier(counter):
                yield node, each  # getattr(self, "count")


def _keeps(use: ast.AST, module: Module) -> bool:
    """Whether a use leaves the variable as it is, or sets it to 0."""
    parent = module.parent(use)
    match parent:
        case ast.Compare() | ast.BinOp():
            return True
        case ast.Attribute(attr=method):
            call = module.parent(parent)
            if not isinstance(call, ast.Call) or call.func is not parent:
                return False
            still = method in _CHANGES and bool(call.args) and is_zero(call.args[0])
            return method in _READS or still
        case ast.Call(func=function):
            return function is not use and identifier(function) in _LOOKS
    return False
