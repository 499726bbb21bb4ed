"""Static graphs of Paddle that divide gradients by a constant loss scale themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.pysource.programs.module import Module

_SCALE = re.compile(r"loss_?scal(e|ing)\w{0,60}$", re.I)
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
        arguments = [module.text(arg) for arg in call.node.args]
        arguments += [module.text(keyword.value) for keyword in call.node.keywords]
        scaled = any(_SCALE.search(argument) for argument in arguments)
        if "master" in call.method and "grad" in call.method and scaled:
            return call.node
    return None


def scaled_limits(module: Module) -> Iterator[ast.AST]:
    """Yield the places where a clipping limit is multiplied by the loss scale."""
    limits: set[str] = set()
    for call in module.calls:
        if call.method in _CLIPS:
            node = call.bound().get("clip_norm", *call.node.args[:1])
            match node:
                case ast.Name(id=name):
                    limits.add(name)
                case ast.expr() if _times_scale(node):
                    yield node
    for statement in module.nodes:
        match statement:
            case (
                ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=by)
                | ast.Assign(targets=[ast.Name(id=name)], value=by)
            ) if name in limits:
                multiplied = isinstance(statement, ast.AugAssign) and _is_scale(by)
                if multiplied or _times_scale(by):
                    yield statement


def _times_scale(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_scale(left) or _is_scale(right)
    return False


def _is_scale(node: ast.expr) -> bool:
    return bool(_SCALE.search(ast.unparse(node)))
