"""Values that are changed in place: `x /= 255`, `x[0] = 0`, `x.clamp_(0)`, `rng.shuffle(x)`.

Whoever follows a name to its assignments does not see such a change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase, definitions, sources_of
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_METHODS = frozenset(
    {
        *("sort", "fill", "put", "resize", "partition"),
        *("update", "setdefault", "pop", "popitem", "append", "extend", "insert", "clear"),
    }
)
"""Methods of arrays and containers that change them, and whose results nobody needs."""
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


def only_source(node: ast.expr, module: Module) -> tuple[ast.expr, Module] | None:
    """Return the one expression that a value comes from; None if it may be another.

    A name may be another if one of its assignments is not seen through, or if what it holds is
    changed in place.
    """
    for here, where in chase(node, module):
        if isinstance(here, ast.Name | ast.Attribute) and changed_in_place(here, where) is not None:
            return None
    ends = ends_of(node, module)
    return ends[0] if len(ends) == 1 else None


def ends_of(node: ast.expr, module: Module) -> list[tuple[ast.expr, Module]]:
    """Return the expressions that a value can come from, and names of which that is not seen."""
    ends = []
    for here, where in chase(node, module):
        if isinstance(here, ast.Name | ast.Attribute):
            through = _has_sources(here, where)
        else:
            through = len(list(chase(here, where))) > 1
        if not through:
            ends.append((here, where))
    return ends


def _has_sources(node: ast.expr, module: Module) -> bool:
    """Whether every assignment to a name is seen through."""
    assigned = definitions(node, module)
    return bool(assigned) and all(sources_of(each) for each in assigned)


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
