"""Running sums of losses, and whether they keep the graphs of all of them alive."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.frames.frame import CallFrame, counter_name
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name, last_name

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_SETTLED = frozenset(
    {"item", "detach", "detach_", "numpy", "tolist", "float", "int", "round", "no_grad", "asscalar"}
)
"""What turns a loss into a number without a graph."""


def summed(
    walker: Walker,
    node: ast.stmt,
    target: ast.expr,
    value: ast.expr,
    depth: int | None,
    frame: CallFrame,
) -> None:
    """`total += loss` and `total = total + loss`, where total lives longer than a round."""
    if not walker.heads or (depth is not None and depth >= len(walker.heads)):
        return
    added = value
    if isinstance(node, ast.Assign):
        if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)):
            return
        name = frame.module.text(target)
        parts = [p for p in (value.left, value.right) if frame.module.text(p) != name]
        if len(parts) != 1:
            return
        added = parts[0]
    live = live_loss(added, frame)
    if live is None:
        return
    detail: dict[str, Value] = {
        "detached": Known(not live),
        "added": Known(frame.module.text(added)),
    }
    walker.emit("sum_loss", node, frame, subject=counter_name(target, frame), detail=detail)


def live_loss(node: ast.expr, frame: CallFrame) -> bool | None:
    """Return whether an expression is a loss that still holds its graph; None if it is no loss."""
    match node:
        case ast.Name(id=name):
            if name in frame.live:
                return frame.live[name]
            return True if is_loss_name(name) else None
        case ast.Attribute(attr="data" | "value"):
            return None if live_loss(node.value, frame) is None else False
        case ast.Attribute(attr=attr):
            return True if is_loss_name(attr) else None
        case ast.Call(func=ast.Attribute(attr=attr, value=value)):
            inner = live_loss(value, frame)
            return None if inner is None else (inner and attr not in _SETTLED)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]):
            inner = live_loss(first, frame)
            return None if inner is None else (inner and name not in _SETTLED)
        case ast.BinOp(left=left, right=right):
            sides = [live_loss(side, frame) for side in (left, right)]
            return None if sides == [None, None] else any(sides)
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return True if is_loss_name(key) else None
        case ast.Call(func=function):
            return True if is_loss_name(last_name(function)) else None
    return None


def liveness(name: str, value: ast.expr, frame: CallFrame) -> bool | None:
    """Return the liveness of a variable of this name after an assignment, as `live_loss` does."""
    live = live_loss(value, frame)
    if live is not None or not is_loss_name(name):
        return live
    if isinstance(value, ast.Call):
        return last_name(value.func) not in _SETTLED
    if isinstance(value, ast.Constant):
        return False
    return True if isinstance(value, ast.BinOp) else None
