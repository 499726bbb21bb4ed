"""Gradients that a program clips itself: `p.grad.mul_(limit / norm)`, `p.grad *= factor`.

What is clipped is decided by the formula of the factor: the norm of one tensor, computed in the
loop that multiplies it, or that of all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.trainstep.frames import clip_limits
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.norms import is_norm, parts_of
from crosscast_reading.trainstep.frames.weight_sources import holds_gradients, plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.walk.walker import Walker

_BOUNDS = frozenset({"min", "minimum", "clamp", "clamp_", "clip", "clamp_max", "clip_by_value"})
_BOUNDS_OF_DIVISORS = frozenset({"max", "maximum", "clamp", "clamp_", "clip", "clamp_min"})
_LOOPS = (ast.For, ast.While)
_WRITES = frozenset({"set_value", "copy_", "assign"})
_PRODUCTS = frozenset({"multiply", "mul", "scale", "scale_"})
_CLAMPS = frozenset({"clamp", "clip", "clip_by_value"})


def written(walker: Walker, node: ast.stmt, frame: CallFrame) -> bool:
    """Note that a statement writes clipped gradients: `p.grad.set_value(p.grad * factor)`.

    False if it does nothing of the kind.
    """
    if not walker.heads and not walker.calls:
        return False
    module = frame.module
    match node:
        case ast.AugAssign(target=augmented, op=ast.Mult(), value=factor):
            return holds_gradients(augmented, module) and scaled(walker, node, factor, frame)
        case ast.AugAssign(target=augmented, op=ast.Div(), value=divisor):
            return holds_gradients(augmented, module) and divided(walker, node, divisor, frame)
    write = _target_and_value(node)
    if write is None:
        return False
    target, value = write
    for part in _computed(value):
        whole = target if isinstance(target, ast.Attribute) else None
        match part:
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as sign, right=right):
                by = scaled if isinstance(sign, ast.Mult) else divided
                pairs = [(left, right)] + ([(right, left)] if by is scaled else [])
            case ast.Call(func=ast.Attribute(value=left, attr=name), args=[right]) if (
                name in _PRODUCTS
            ):
                by, pairs = scaled, [(left, right)]
            case ast.Call(func=function, args=[left, right]) if identifier(function) in _PRODUCTS:
                by, pairs = scaled, [(left, right)]
            case ast.Call(func=function) if whole is not None and identifier(function) in _CLAMPS:
                return clamped(walker, node, part, frame)
            case _:
                continue
        if any(
            holds_gradients(side, module) and by(walker, node, factor, frame, part)
            for side, factor in pairs
        ):
            return True
    return False


def _target_and_value(node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the target that a statement writes to as a whole, and the value that it writes."""
    match node:
        case ast.Assign(targets=[target], value=value):
            return target, value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr=name), args=given)) if (
            name in _WRITES
        ):
            if name == "assign" and len(given) == 2:  # paddle.assign(value, output)
                return given[1], given[0]
            return (target, given[0]) if given else None
    return None


def _computed(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions computed of a gradient, or of each of a list of gradients."""
    match plain(value):
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            yield from _computed(element)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            yield from _computed(inner)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _computed(part)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _computed(body)
            yield from _computed(orelse)
        case other:
            yield other


def clamped(walker: Walker, node: ast.AST, call: ast.Call, frame: CallFrame) -> bool:
    """Note that a gradient is limited by value: `p.grad = p.grad.clamp(-c, c)`."""
    given = list(call.args)
    if isinstance(call.func, ast.Attribute) and holds_gradients(call.func.value, frame.module):
        given.insert(0, call.func.value)
    if not given or not holds_gradients(given[0], frame.module):
        return False
    bound, symmetric = limits_of(call, given[1:], frame)
    of = frame.module.text(given[0]).partition(".grad")[0]
    detail: dict[str, Value] = {"of": Known(of)}
    if symmetric:
        part = clip_limits.is_part(given[0], frame.module)
        detail["kind"] = Known(clip_limits.PARTIAL if part else "value")
    if bound is not None:
        detail["max"], detail["max_text"] = frame.value(bound), Known(frame.module.text(bound))
    walker.emit("clip", node, frame, detail=detail)
    return True


def limits_of(
    call: ast.Call, given: Sequence[ast.expr], frame: CallFrame
) -> tuple[ast.expr | None, bool]:
    """Return the upper limit of a clamp, and whether the lower one is its negation.

    Args:
        call: the clamp.
        given: its arguments behind what is clamped.
        frame: of the call.
    """
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    low = words.get("min") or words.get("clip_value_min") or (given[0] if given else None)
    high = words.get("max") or words.get("clip_value_max")
    high = high or (given[1] if len(given) > 1 else None)
    return high, clip_limits.is_symmetric(low, high, frame.value)


def scaled(
    walker: Walker,
    node: ast.AST,
    factor: ast.expr,
    frame: CallFrame,
    within: ast.AST | None = None,
) -> bool:
    """Note that gradients are multiplied by a factor that limits their norm.

    A factor that holds a norm but does not limit it is noted as clipping of an unknown kind. False
    if the factor has nothing to do with a norm.

    Args:
        walker: where it is noted.
        node: the call or statement.
        factor: what the gradients are multiplied by.
        frame: of the node.
        within: the product, if it stands in a loop within the node.
    """
    return _limited(walker, node, factor, frame, within or node, inverse=False)


def divided(
    walker: Walker,
    node: ast.AST,
    divisor: ast.expr,
    frame: CallFrame,
    within: ast.AST | None = None,
) -> bool:
    """Note that gradients are divided so that their norm is limited: `/ max(1, norm / limit)`."""
    return _limited(walker, node, divisor, frame, within or node, inverse=True)


def _limited(
    walker: Walker,
    node: ast.AST,
    factor: ast.expr,
    frame: CallFrame,
    within: ast.AST,
    *,
    inverse: bool,
) -> bool:
    module = frame.module
    parts = list(parts_of(factor, module, 0))
    norms = [part for part in parts if is_norm(part)]
    if not norms:
        return False
    quotient = _limit(parts, module, inverse=inverse)
    detail: dict[str, Value] = {}
    bounds = _BOUNDS_OF_DIVISORS if inverse else _BOUNDS
    if quotient is not None and _is_bounded(node, parts, quotient[0], module, bounds):
        limit, norm = quotient
        kind = "per_param_norm" if _of_one(within, norms, module) else "global_norm"
        for each in norms:
            kind = kind and clip_limits.kind_of_norm(
                kind, clip_limits.type_of_norm(each, frame), frame
            )
        target = _target_of(node)
        if kind and target is not None and clip_limits.is_part(target, module):
            kind = clip_limits.PARTIAL
        if kind:
            detail["kind"] = Known(kind)
        detail["max"] = frame.value(limit)
        detail["max_text"] = Known(module.text(limit))
        detail["eps"] = _epsilon(norm, frame)
    walker.emit("clip", node, frame, detail=detail)
    return True


def _target_of(node: ast.AST) -> ast.expr | None:
    """Return the target that a call or statement changes."""
    match node:
        case ast.AugAssign(target=target):
            return target
        case ast.Assign() | ast.Expr():
            write = _target_and_value(node)
            return write[0] if write is not None else None
        case ast.Call(func=ast.Attribute(value=target, attr=name), args=given):
            return given[0] if name.startswith("_foreach") and given else target
    return None


def _epsilon(norm: ast.expr, frame: CallFrame) -> Value:
    """Return the term that is added to a norm before it divides: `1e-6` of `norm + 1e-6`."""
    match norm:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for added, rest in ((right, left), (left, right)):
                if any(is_norm(part) for part in parts_of(rest, frame.module, 1)):
                    return frame.value(added)
        case ast.Name() | ast.Attribute():
            for binding in definitions(norm, frame.module):
                if binding.kind == "assign" and isinstance(binding.value, ast.BinOp):
                    return _epsilon(binding.value, frame)
            return Known(0.0, "derived")
    if is_norm(norm):
        return Known(0.0, "derived")
    return Unknown(frame.module.text(norm), "how it is kept from 0 was not read")


def _limit(
    parts: list[ast.AST], module: Module, *, inverse: bool
) -> tuple[ast.expr, ast.expr] | None:
    """Return the limit divided by a norm, and that norm; the other way round in a divisor."""
    for part in parts:
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Div):
            continue
        limit, norm = (part.right, part.left) if inverse else (part.left, part.right)
        if any(is_norm(inner) for inner in parts_of(norm, module, 1)):
            return limit, norm
    return None


def _is_bounded(
    node: ast.AST,
    parts: list[ast.AST],
    limit: ast.expr,
    module: Module,
    bounds: frozenset[str],
) -> bool:
    """Whether gradients below the limit stay: by a minimum, or by a condition around."""
    if any(isinstance(p, ast.Call) and identifier(p.func) in bounds for p in parts):
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
