"""Divisions of losses that are statements of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.losses import loss_of
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name
from crosscast_reading.trainstep.walk.assignments import keep

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker


def divided_in_place(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`loss.div_(n)` or `out["loss"].div_(n)` as a statement of its own."""
    function = call.func
    if not isinstance(function, ast.Attribute) or len(call.args) != 1:
        return False
    match function.value:
        case ast.Name(id=word):
            name = word
        case ast.Attribute(attr=word) | ast.Subscript(slice=ast.Constant(value=str(word))) as path:
            name = canonical(path, frame)
        case _:
            return False
    if is_loss_name(word):
        keep(walker, name, loss_of(call, frame), frame)
    return is_loss_name(word)
