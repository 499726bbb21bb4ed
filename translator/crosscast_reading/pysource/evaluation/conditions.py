"""What conditions are with the defaults of flags."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.truth import is_combination, of_combination
from crosscast_reading.pysource.values.combine import operand
from crosscast_reading.pysource.values.value import Choice, Instance, Symbol, Unknown

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_PROPERTIES = ("property", "cached_property")


def truth(node: ast.expr, module: Module) -> bool | None:
    """Return the truth of a condition with the defaults of flags and parameters; None: unknown."""
    if is_combination(node):
        return of_combination(node, lambda part: truth(part, module))
    value = evaluate(node, module)
    if isinstance(value, Unknown) and value.origin == "flag" and not value.has_default:
        return False if _optional_flag(node, module) else None
    known, content = operand(value)
    if isinstance(value, Symbol) and _is_property(value, module):
        return None
    if isinstance(value, Symbol | Instance):
        return True
    if not known or isinstance(content, Symbol | Unknown | Choice | Instance):
        return None
    return bool(content)


def _is_property(symbol: Symbol, module: Module) -> bool:
    """Whether a name means a property of a class of the program: what it computes is not known."""
    file, colon, name = symbol.name.rpartition(":")
    if not colon:
        return False
    homes = (home for home in module.program.modules if home.source.name == file)
    function = next((home.functions[name] for home in homes if name in home.functions), None)
    marks = function.decorator_list if function is not None else ()
    return any(
        (mark.id if isinstance(mark, ast.Name) else mark.attr) in _PROPERTIES
        for mark in marks
        if isinstance(mark, ast.Name | ast.Attribute)
    )


def _optional_flag(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a flag whose default is None."""
    if not isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
        return False
    flag = flag_read(node, module)
    return flag is not None and not flag.required
