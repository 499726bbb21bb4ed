"""Gradients that a program clips itself: `p.grad.mul_(limit / norm)`, `p.grad *= factor`.

What is clipped is decided by the formula of the factor: the norm of one tensor, computed in the
loop that multiplies it, or that of all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier, walk
from crosscast.pysource.values.value import Known, Value
from crosscast.trainstep.frames.frame import Frame

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.trainstep.walk.walker import Walker

_DEPTH = 4
_NORMS = frozenset({"norm", "vector_norm", "l2_norm", "global_norm", "get_total_norm"})
_BOUNDS = frozenset({"min", "minimum", "clamp", "clamp_", "clip", "clamp_max"})
_LOOPS = (ast.For, ast.While)


def scaled(walker: Walker, node: ast.AST, factor: ast.expr, frame: Frame) -> bool:
    """Note that gradients are multiplied by a factor that limits their norm.

    A factor that holds a norm but does not limit it is noted as clipping of an unknown kind. False
    if the factor has nothing to do with a norm.
    """
    module = frame.module
    parts = list(_parts(factor, module, 0))
    norms = [part for part in parts if _is_norm(part)]
    if not norms:
        return False
    limit = _limit(parts, module)
    detail: dict[str, Value] = {}
    if limit is not None and _is_bounded(node, parts, limit, module):
        detail["kind"] = Known("per_param_norm" if _of_one(node, norms, module) else "global_norm")
        detail["max"] = frame.value(limit)
        detail["max_text"] = Known(module.text(limit))
    walker.emit("clip", node, frame, detail=detail)
    return True


def _parts(node: ast.expr, module: Module, depth: int) -> Iterator[ast.AST]:
    """Yield the nodes of an expression and of what its names are assigned."""
    for part in walk(node):
        yield part
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and depth < _DEPTH:
            for binding in definitions(part, module):
                value = binding.value
                here = binding.module is module and binding.kind in ("assign", "augment")
                if here and value is not None and part not in walk(value):
                    yield from _parts(value, module, depth + 1)


def _is_norm(node: ast.AST) -> bool:
    """Whether an expression is a norm: `p.grad.norm()`, `total ** 0.5`, `sqrt(total)`."""
    match node:
        case ast.Call(func=function) if identifier(function) in _NORMS | {"sqrt"}:
            return True
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=0.5)):
            return True
        case ast.BinOp(
            op=ast.Pow(),
            right=ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Div()),
        ):
            return True
    return False


def _limit(parts: list[ast.AST], module: Module) -> ast.expr | None:
    """Return what is divided by a norm."""
    for part in parts:
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Div):
            continue
        if any(_is_norm(inner) for inner in _parts(part.right, module, 1)):
            return part.left
    return None


def _is_bounded(node: ast.AST, parts: list[ast.AST], limit: ast.expr, module: Module) -> bool:
    """Whether gradients below the limit stay: by a minimum, or by a condition around."""
    if any(isinstance(p, ast.Call) and identifier(p.func) in _BOUNDS for p in parts):
        return True
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    here = module.enclosing(node, ast.If, ast.FunctionDef)
    while isinstance(here, ast.If):
        compared = isinstance(here.test, ast.Compare)
        if compared and any(isinstance(p, ast.Name) and p.id in names for p in walk(here.test)):
            return True
        here = module.enclosing(here, ast.If, ast.FunctionDef)
    return any(isinstance(part, ast.IfExp) for part in parts)


def _of_one(node: ast.AST, norms: list[ast.AST], module: Module) -> bool:
    """Whether a norm is computed of the tensor that is multiplied, in the same loop."""
    loop = module.enclosing(node, *_LOOPS, ast.ListComp)
    if loop is None:
        return False
    inside = set(map(id, walk(loop)))
    targets = loop.generators[0].target if isinstance(loop, ast.ListComp) else None
    if isinstance(loop, ast.For):
        targets = loop.target
    own = {n.id for n in walk(targets) if isinstance(n, ast.Name)} if targets is not None else set()
    return any(
        id(norm) in inside
        and any(isinstance(part, ast.Name) and part.id in own for part in walk(norm))
        for norm in norms
    )
