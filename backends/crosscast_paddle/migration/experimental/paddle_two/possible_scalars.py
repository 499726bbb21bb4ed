"""First elements of what may be a scalar: a loss that a program's own function returns."""

from __future__ import annotations

import ast
import re

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module

_ONE_NUMBER = re.compile(
    r"(?:\b|_|\d)(?:loss|cost|acc|accuracy|err|error)(?:\d*\b|_)", re.IGNORECASE
)
_NUMBERS = re.compile(r"loss|cost|acc", re.IGNORECASE)


def may_be_scalar(tensor: ast.expr, module: Module) -> bool:
    """Whether a tensor, whose first element is read, is called one number and may be a scalar.

    What a function of Paddle returned has as many dimensions as it always had, or is a scalar with
    certainty.
    """
    if isinstance(tensor, ast.Attribute):
        return bool(_ONE_NUMBER.search(tensor.attr))
    if not isinstance(tensor, ast.Name):
        return False
    found = list(bindings_of(tensor.id, tensor, module))
    if any(isinstance(b.assigned, ast.Call) and _is_of_paddle(b.assigned, module) for b in found):
        return False
    over = _iterated(tensor, module)
    if over is not None:
        return bool(_NUMBERS.search(module.text(over)))
    return bool(_ONE_NUMBER.search(tensor.id))


def is_of_arrays(array: ast.expr, module: Module) -> bool:
    """Whether an expression is an element of `[loss.numpy() for loss in losses]`."""
    over = _iterated(array, module) if isinstance(array, ast.Name) else None
    if not isinstance(over, ast.Name) or not _NUMBERS.search(over.id):
        return False
    return any(
        isinstance(binding.assigned, ast.ListComp) and _is_array(binding.assigned.elt)
        for binding in bindings_of(over.id, over, module)
    )


def _is_array(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "numpy"


def _is_of_paddle(call: ast.Call, module: Module) -> bool:
    names = module.call(call).names
    return bool(names) and all(name.startswith("paddle.") for name in names)


def _iterated(name: ast.Name, module: Module) -> ast.expr | None:
    """Return what a loop or comprehension around a name takes it from."""
    here: ast.AST | None = name
    while here is not None:
        loops: list[ast.comprehension | ast.For] = []
        if isinstance(here, ast.ListComp | ast.DictComp | ast.GeneratorExp | ast.SetComp):
            loops = [*here.generators]
        elif isinstance(here, ast.For):
            loops = [here]
        for loop in loops:
            if any(isinstance(n, ast.Name) and n.id == name.id for n in ast.walk(loop.target)):
                return loop.iter
        here = module.parent(here)
    return None
