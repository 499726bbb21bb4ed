"""Static graphs of Paddle that divide gradients by a constant loss scale themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.pysource.programs.module import Module

_SCALE = re.compile(r"loss_?scal(e|ing)\w*$", re.I)
_CLIPS = (
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
)


def divided_gradients(module: Module) -> ast.Call | None:
    """Return the call of a helper that receives gradients and the loss scale before the update.

    None if the gradients are applied directly.
    """
    for call in module.calls:
        given = [module.text(arg) for arg in call.node.args]
        given += [module.text(keyword.value) for keyword in call.node.keywords]
        scaled = any(_SCALE.search(argument) for argument in given)
        if "master" in call.method and "grad" in call.method and scaled:
            return call.node
    return None


def scaled_limits(module: Module) -> Iterator[ast.AST]:
    """Yield the places where a clipping limit is multiplied by the loss scale."""
    limits: set[str] = set()
    for call in module.calls:
        if call.method in _CLIPS:
            node = call.bound().get("clip_norm")
            if node is None and call.node.args:
                node = call.node.args[0]
            if isinstance(node, ast.Name):
                limits.add(node.id)
            elif isinstance(node, ast.BinOp) and _times_scale(node):
                yield node
    for statement in module.nodes:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=by):
                if name in limits and _SCALE.search(ast.unparse(by)):
                    yield statement
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
                if name in limits and _times_scale(value):
                    yield statement


def _times_scale(node: ast.BinOp) -> bool:
    if not isinstance(node.op, ast.Mult):
        return False
    return any(bool(_SCALE.search(ast.unparse(child))) for child in (node.left, node.right))
