"""Values that are changed in place: `x /= 255`, `x[0] = 0`, `x.clamp_(0)`, `rng.shuffle(x)`.

Whoever follows a name to its assignments does not see such a change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_METHODS = frozenset({"sort", "fill", "put", "resize", "partition"})
"""Methods of arrays that change them and return nothing."""
_FUNCTIONS = frozenset({"shuffle", "copyto", "put", "putmask", "place", "fill_diagonal"})
"""Functions that change their first argument."""


def changed_in_place(node: ast.Name | ast.Attribute, module: Module) -> ast.stmt | None:
    """Return a statement that changes what a name holds: in its function, or in its file."""
    function = module.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    around = function if function is not None and isinstance(node, ast.Name) else module.tree
    text = module.text(node)
    for inner in walk(around):
        if any(module.text(each) == text for each in changes(inner)):
            return module.statement_of(inner)
    return None


def changes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the values that a statement or a call changes in place."""
    match node:
        case ast.AugAssign(target=target):
            yield _whole(target)
        case ast.Assign(targets=targets):
            yield from (_whole(each) for each in targets if isinstance(each, ast.Subscript))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr=name))) if (
            name in _METHODS
        ):
            yield held
        case ast.Call(func=function, args=args, keywords=keywords):
            yield from (keyword.value for keyword in keywords if keyword.arg == "out")
            if isinstance(function, ast.Attribute):
                in_place = function.attr.endswith("_") and not function.attr.endswith("__")
                if in_place:
                    yield function.value
                if args and (in_place or function.attr in _FUNCTIONS):
                    yield args[0]


def _whole(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
