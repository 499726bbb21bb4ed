"""Flags that a program only keeps under a name that nothing reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_PURE = frozenset(
    {
        *("int", "float", "bool", "str", "list", "tuple", "set", "map", "len", "sorted"),
        *("split", "strip", "lower", "upper", "replace", "min", "max"),
    }
)
"""Functions that do nothing but return a value."""
_HIDES = frozenset({"locals", "globals", "vars", "eval", "exec"})
"""Functions that read names which no line shows."""


def is_only_kept(flag: Flag, program: Program) -> bool:
    """Whether every read of a flag computes a value for a name that the program never reads."""
    reads = [
        (node, module)
        for module in program.modules
        for node in module.every(ast.Attribute)
        if node.attr == flag.dest and isinstance(node.ctx, ast.Load)
    ]
    named = any(
        text.value == flag.dest for module in program.modules for text in module.every(ast.Constant)
    )
    return bool(reads) and not named and all(_is_kept(node, module) for node, module in reads)


def _is_kept(read: ast.Attribute, module: Module) -> bool:
    match module.statement_of(read):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as statement:
            pass
        case _:
            return False
    if isinstance(module.parent(statement), ast.ClassDef):
        return False  # an attribute of the class
    calls = [node.func for node in walk(value) if isinstance(node, ast.Call)]
    if not all(identifier(call) in _PURE for call in calls):
        return False
    return not any(_may_read(name, other, own=other is module) for other in module.program.modules)


def _may_read(name: str, module: Module, *, own: bool) -> bool:
    """Whether a module reads a name, or imports it, or may read it unseen."""
    for node in module.nodes:
        match node:
            case ast.Name(id=variable, ctx=ast.Load()) if own and variable in {name, *_HIDES}:
                return True
            case ast.Attribute(attr=attribute, ctx=ast.Load()) if not own and attribute == name:
                return True
            case ast.ImportFrom(names=names) if any(each.name in (name, "*") for each in names):
                return True
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return True
    return False
