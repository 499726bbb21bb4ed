"""Follow a loss from where it is computed to where it is differentiated: divisions and scaling."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name, kind_of, last_name


@dataclass(frozen=True, slots=True)
class Division:
    """One division of a loss."""

    node: ast.AST
    """The division, or the statement of `loss /= n`."""
    by: ast.expr
    frame: CallFrame
    times: ast.expr | None = None
    """`len(chunk)` of `loss * len(chunk) / batch_size`."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What happened to the value of a variable so far."""

    scaler: str = ""
    """Loss scaler that it was multiplied by."""
    divisions: tuple[Division, ...] = ()
    multiplied: tuple[Division, ...] = ()
    """Multiplications by something that is not a plain number: `loss * n`."""

    def __bool__(self) -> bool:
        return bool(self.scaler or self.divisions or self.multiplied)

    def join(self, other: Loss) -> Loss:
        """Return the facts that hold of a value made of both."""
        if not other:
            return self
        if not self:
            return other
        return Loss(
            self.scaler or other.scaler,
            _merge(self.divisions, other.divisions),
            _merge(self.multiplied, other.multiplied),
        )


PLAIN = Loss()

_THROUGH = frozenset(
    {
        *("sum", "mean", "stack", "cat", "add", "float", "reduce_mean", "reduce_sum", "to", "cast"),
        *("average", "add_n", "item", "squeeze", "clone", "half", "double", "scale", "multiply"),
        *("get_scaled_loss", "scale_loss", "requires_grad_", "contiguous", "view", "backward"),
    }
)  # fmt: skip
"""Functions and methods whose result still is the loss."""

_DIVIDE = frozenset({"div", "div_", "true_divide", "divide", "truediv", "elementwise_div"})
SCALES = frozenset({"scale", "get_scaled_loss", "scale_loss"})
"""Methods that multiply a loss by the loss scale."""


def loss_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> Loss:
    """Return the facts known of the value of an expression as a loss."""
    if depth > 10:
        return PLAIN
    match node:
        case ast.Name(id=name):
            return _of_name(name, frame)
        case ast.Attribute() | ast.Subscript():
            return _of_path(node, frame)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _divided(node, left, right, frame, depth)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _multiplied(node, left, right, frame, depth)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return loss_of(left, frame, depth + 1).join(loss_of(right, frame, depth + 1))
        case ast.IfExp(body=body, orelse=orelse):
            return loss_of(body, frame, depth + 1).join(loss_of(orelse, frame, depth + 1))
        case ast.Call():
            return _of_call(node, frame, depth)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            joined = PLAIN
            for part in parts[:16]:
                joined = joined.join(loss_of(part, frame, depth + 1))
            return joined
        case ast.UnaryOp(operand=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
            return loss_of(inner, frame, depth + 1)
        case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner) | ast.DictComp(value=inner):
            return loss_of(inner, frame, depth + 1)
        case ast.NamedExpr(value=inner):
            return loss_of(inner, frame, depth + 1)
    return PLAIN


def frame_loss(frame: CallFrame, name: str) -> Loss:
    """Return the facts known of a variable."""
    loss = frame.losses.get(name)
    return loss if isinstance(loss, Loss) else PLAIN


def _of_name(name: str, frame: CallFrame) -> Loss:
    if name in frame.losses:
        return frame_loss(frame, name)
    argument = frame.bound.get(name)
    if argument is not None and name not in frame.latest:
        return loss_of(argument.node, argument.frame, 1)
    if frame.outer is not None and name not in frame.scope.bindings:
        return _of_name(name, frame.outer)
    return PLAIN


def _of_path(node: ast.Attribute | ast.Subscript, frame: CallFrame) -> Loss:
    """Return the facts of `out.loss`, `out["loss"]`, or an entry of what holds losses alone."""
    name = canonical(node, frame)
    root: ast.expr = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    where: CallFrame | None = frame
    while where is not None and name not in where.losses:
        given = where.bound.get(root.id) if isinstance(root, ast.Name) else None
        where = given.frame if given is not None and given.frame is not where else None
    if where is not None:
        return frame_loss(where, name)
    whole = node.value
    if isinstance(node, ast.Subscript) and isinstance(whole, ast.Name):
        return _of_name(whole.id, frame)
    return PLAIN


def _divided(node: ast.expr, left: ast.expr, right: ast.expr, frame: CallFrame, depth: int) -> Loss:
    times = None
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult):
        parts = (left.left, left.right)
        rest = [part for part in parts if _is_count(part)] or [
            part for part in parts if not _holds_loss(part, frame)
        ]
        if len(rest) == 1 and not isinstance(rest[0], ast.Constant):
            times = rest[0]
    known = loss_of(left, frame, depth + 1)
    if times is not None:
        known = replace(known, multiplied=())
    return known.join(Loss(divisions=(Division(node, right, frame, times),)))


def _is_count(node: ast.expr) -> bool:
    """`len(chunk)`, `x.size(0)`, `x.shape[0]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return last_name(node) in ("len", "size", "shape", "numel", "nelement")


def _multiplied(
    node: ast.expr, left: ast.expr, right: ast.expr, frame: CallFrame, depth: int
) -> Loss:
    for loss, factor in ((left, right), (right, left)):
        share = _share(factor, frame)
        if share is None:
            continue
        known = loss_of(loss, frame, depth + 1)
        by, times = share
        return known.join(Loss(divisions=(Division(node, by, frame, times),)))
    joined = loss_of(left, frame, depth + 1).join(loss_of(right, frame, depth + 1))
    factors = [o for o in (left, right) if isinstance(o, ast.Name | ast.Attribute | ast.Subscript)]
    outside = [o for o in factors if not _holds_loss(o, frame)]
    more = tuple(Division(node, factor, frame) for factor in outside)
    return joined.join(Loss(multiplied=more)) if more else joined


def _share(node: ast.expr, frame: CallFrame) -> tuple[ast.expr, ast.expr | None] | None:
    """Return n and a of a factor `a / n` (None for 1)."""
    if isinstance(node, ast.Name):
        reference = frame.find(node.id)
        if (
            reference is None
            or not isinstance(reference.node, ast.BinOp)
            or reference.frame is not frame
        ):
            return None
        node = reference.node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
        return None
    if _holds_loss(node.left, frame) or _holds_loss(node.right, frame):
        return None
    is_inverse = isinstance(node.left, ast.Constant) and node.left.value == 1
    return node.right, None if is_inverse else node.left


def _holds_loss(node: ast.expr, frame: CallFrame) -> bool:
    for part in walk(node):
        if isinstance(part, ast.Name) and (is_loss_name(part.id) or frame_loss(frame, part.id)):
            return True
        if isinstance(part, ast.Attribute) and is_loss_name(part.attr):
            return True
    return False


def _of_call(node: ast.Call, frame: CallFrame, depth: int) -> Loss:
    function = node.func
    name = last_name(function)
    returned = frame.losses.get(f"call {id(node)}")
    if isinstance(returned, Loss):
        return returned
    known = PLAIN
    if isinstance(function, ast.Attribute):
        known = loss_of(function.value, frame, depth + 1)
        if name in _DIVIDE and node.args:
            whole, by = (function.value, node.args[0])
            if len(node.args) == 2:
                whole, by = node.args[0], node.args[1]
                known = loss_of(whole, frame, depth + 1)
            return known.join(Loss(divisions=(Division(node, by, frame),)))
        if name in ("mul", "mul_") and node.args:
            return _multiplied(node, function.value, node.args[0], frame, depth)
    if name in SCALES and node.args and isinstance(function, ast.Attribute):
        kind = kind_of(function.value, frame)
        if kind in ("scaler", "optimizer", "wrapper") or name != "scale":
            known = loss_of(node.args[0], frame, depth + 1)
            return replace(known, scaler=canonical(function.value, frame))
    if name in _THROUGH or is_loss_name(name):
        for argument in node.args[:4]:
            if name in _THROUGH or (isinstance(argument, ast.Name) and is_loss_name(argument.id)):
                known = known.join(loss_of(argument, frame, depth + 1))
    return known


def _merge(first: tuple[Division, ...], second: tuple[Division, ...]) -> tuple[Division, ...]:
    seen = {id(division.node) for division in first}
    return first + tuple(division for division in second if id(division.node) not in seen)


def join(first: object, second: object) -> object:
    """Return the facts that hold of a loss that has come two ways."""
    if isinstance(first, Loss) and isinstance(second, Loss):
        return first.join(second)
    return second
