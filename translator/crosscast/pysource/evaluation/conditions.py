"""What conditions are with the defaults of flags."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.flags.reading import flag_read
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.syntax.truth import is_combination, of_combination
from crosscast.pysource.values.combine import operand
from crosscast.pysource.values.value import Choice, Instance, Symbol, Unknown

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module


def truth(node: ast.expr, module: Module) -> bool | None:
    """Return what a condition is with the defaults of flags and parameters; None: not known."""
    if is_combination(node):
        return of_combination(node, lambda part: truth(part, module))
    value = evaluate(node, module)
    if isinstance(value, Unknown) and value.origin == "flag" and not value.has_default:
        return False if _optional_flag(node, module) else None
    known, content = operand(value)
    if isinstance(value, Symbol | Instance):
        return True
    if not known or isinstance(content, Symbol | Unknown | Choice | Instance):
        return None
    return bool(content)


def _optional_flag(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a flag whose default is None."""
    if not isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
        return False
    flag = flag_read(node, module)
    return flag is not None and not flag.required
