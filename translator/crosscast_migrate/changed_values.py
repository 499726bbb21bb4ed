"""Values that are changed in place: `x /= 255`, `x[0] = 0`, `x.clamp_(0)`, `rng.shuffle(x)`.

Whoever follows a name to its assignments does not see such a change. It may be made under another
name, as in `z = x; z /= 255`, or by a function of the program that is given the value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import Place, chase, definitions, ends_of
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import Path
from crosscast_reading.pysource.syntax.nodes import identifier, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METHODS = frozenset(
    {
        *("sort", "fill", "put", "resize", "partition"),
        *("update", "setdefault", "pop", "popitem", "append", "extend", "insert", "clear"),
    }
)
"""Methods that change an array or a container where their result is not used.

Other objects have methods of these names that only return something.
"""
_FUNCTIONS = frozenset({"shuffle", "copyto", "put", "putmask", "place", "fill_diagonal"})
"""Functions that change their first argument."""

_COPIES = frozenset({"clone", "copy", "deepcopy"})
_MADE = (ast.Call, ast.Subscript, ast.BinOp, ast.List, ast.Dict)
"""Expressions of a value that can be changed, which two names share if both come from one."""
_CHANGING: tuple[type[ast.AST], ...] = (ast.AugAssign, ast.Assign, ast.Expr, ast.Call)
Origin = tuple[ast.AST, Path]
"""An expression or a parameter, and which part of its value a name holds."""
Change = tuple[ast.AST, "Module"]


def changed_in_place(node: ast.Name | ast.Attribute, module: Module) -> Change | None:
    """Return a statement that changes what a name holds, under that name or another."""
    function = module.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    around = function if function is not None and isinstance(node, ast.Name) else module.tree
    text = module.text(node)
    for inner in walk(around):
        if any(module.text(each) == text for each in changes(inner)):
            return module.statement_of(inner) or inner, module
    changed = _changed_origins(module.program)
    origins = (each for place in chase(node, module) for each in _origins(*place))
    return next((changed[origin] for origin in origins if origin in changed), None)


@once
def _changed_origins(program: Program) -> Mapping[Origin, Change]:
    """Return where the values of a program come from that it changes in place."""
    changed: dict[Origin, Change] = {}
    for module in program.modules:
        for node in (each for kind in _CHANGING for each in module.every(kind)):
            for value in changes(node):
                change = module.statement_of(node) or node, module
                origins = (each for place in _held(value, module) for each in _origins(*place))
                for origin in origins:
                    changed.setdefault(origin, change)
    return changed


def _held(node: ast.expr, module: Module) -> Iterator[Place]:
    """Yield the expressions whose value something has, or a part of it, but for copies of it."""
    for here, where in chase(node, module):
        yield here, where
        if isinstance(here, ast.Call) and identifier(here.func) in _COPIES:
            return
        if isinstance(here, ast.Subscript) and not isinstance(here.slice, ast.Constant):
            yield from _held(_whole(here), where)


def _origins(node: ast.expr, module: Module) -> Iterator[Origin]:
    if isinstance(node, _MADE):
        yield node, ()
    elif isinstance(node, ast.Name):
        for binding in definitions(node, module):
            if binding.kind == "parameter":
                yield binding.node, ()
            elif binding.path and binding.value is not None:
                yield binding.value, binding.path


def only_source(node: ast.expr, module: Module) -> Place | None:
    """Return the one expression that a value comes from; None if it may be another.

    A name may be another if one of its assignments is not seen through, or if what it holds is
    changed in place.
    """
    for here, where in chase(node, module):
        if isinstance(here, ast.Name | ast.Attribute) and changed_in_place(here, where) is not None:
            return None
    ends = ends_of(node, module)
    return ends[0] if len(ends) == 1 else None


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
