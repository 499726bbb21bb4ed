"""Calls and attributes that say when gradients of several processes are summed up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.trainstep.events import ASKED_LATE, HELD_BACK, Context
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.object_kinds import kind_of
from crosscast_reading.trainstep.walk.conditions import PathCondition

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker


def hold_back(
    walker: Walker, node: ast.expr, sync: ast.expr, frame: CallFrame, name: str = HELD_BACK
) -> None:
    """Note that gradients are only reduced from here on if an expression is true."""
    literal = sync.value if isinstance(sync, ast.Constant) else None
    if literal:
        walker.contexts = [c for c in walker.contexts if c.name != name]
        return
    guards = () if literal is False else (PathCondition(sync, False, frame, walker.heads).guard(),)
    subject = canonical(node, frame)
    walker.contexts.append(
        Context(kind="no_sync", node=node, name=name, guards=guards, subject=subject)
    )


def _hold_back(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`model.set_requires_gradient_sync(last)`."""
    if isinstance(call.func, ast.Attribute) and call.args:
        hold_back(walker, call.func.value, call.args[0], frame, ASKED_LATE)
    return True


def _all_reduce(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    text = frame.module.text(call)
    if "grad" not in text.lower():
        return False
    walker.emit("all_reduce", call, frame, subject=text[:80])
    return True


def _synchronize(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if isinstance(call.func, ast.Attribute) and kind_of(call.func.value, frame) == "optimizer":
        subject = canonical(call.func.value, frame)
        walker.emit("all_reduce", call, frame, subject=subject, library="horovod")
    return True


ACTIONS: dict[str, Callable[[Walker, ast.Call, CallFrame], bool]] = {
    "set_requires_gradient_sync": _hold_back,
    "all_reduce": _all_reduce,
    "all_reduce_": _all_reduce,
    "allreduce": _all_reduce,
    "fused_allreduce_gradients": _all_reduce,
    "allreduce_gradients": _all_reduce,
    "average_gradients": _all_reduce,
    "reduce_gradients": _all_reduce,
    "sync_gradients": _all_reduce,
    "allreduce_grads": _all_reduce,
    "synchronize": _synchronize,
}
