"""Lines that end a program, or leave a function or a loop."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk

_ENDS = frozenset({"exit", "_exit", "quit", "abort", "error"})
"""Also `parser.error`, which ends the program."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def ends_program(node: ast.AST) -> bool:
    """Whether a line ends the program."""
    match node:
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name in ("SystemExit", "KeyboardInterrupt")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _ENDS
    return False


def leaves(node: ast.AST, place: ast.AST, module: Module) -> bool:
    """Whether a line leaves the function, the program, or a loop around a place."""
    if isinstance(node, ast.Continue | ast.Break):
        loop = module.enclosing(node, *_LOOPS)
        return loop is not None and any(each is place for each in walk(loop))
    return isinstance(node, ast.Return | ast.Raise) or ends_program(node)
