"""Loss scalers that a program creates and does not use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import target_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_NO_USE = ("state_dict", "load_state_dict", "get_scale", "update")
"""Methods that neither scale a loss nor make a step."""
_SHOWS = frozenset({"print", "info", "debug", "log"})


def are_unused(made: Sequence[Call], modules: Iterable[Module]) -> bool:
    """Whether every scaler is only created, saved, updated, or scales what is only shown.

    Args:
        made: the calls that create them.
        modules: those that may use them.
    """
    names = {target_of(call.node, call.module).rpartition(".")[2] for call in made}
    if not made or not all(names):
        return False
    makers = {inner for call in made for inner in walk(call.node.func)}
    for module in modules:
        nodes: list[ast.Name | ast.Attribute] = [*module.every(ast.Name)]
        nodes += module.every(ast.Attribute)
        for node in nodes:
            if not isinstance(node.ctx, ast.Load):
                continue
            word = identifier(node)
            named = "scaler" in word.lower() or word in names
            if not named or node in makers or _is_not_used(node, module):
                continue
            if not _scales_to_show(node, module):
                return False
    return True


def _is_not_used(node: ast.AST, module: Module) -> bool:
    parent = module.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in _NO_USE


def _scales_to_show(node: ast.AST, module: Module) -> bool:
    """Whether `scaled = scaler.scale(loss)` is only printed, and the plain loss goes on."""
    method = module.parent(node)
    call = module.parent(method) if method is not None else None
    if not isinstance(method, ast.Attribute) or method.attr != "scale":
        return False
    statement = module.parent(call) if isinstance(call, ast.Call) else None
    if isinstance(statement, ast.Expr):
        return True
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return all(
                _is_shown(read, module)
                for read in module.nodes
                if isinstance(read, ast.Name) and read.id == name
                if isinstance(read.ctx, ast.Load)
            )
    return False


def _is_shown(node: ast.AST, module: Module) -> bool:
    around = module.parent(node)
    return isinstance(around, ast.Call) and identifier(around.func) in _SHOWS
