"""Divisions of losses that are statements of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.trainstep.frames.frame import Frame
from crosscast.trainstep.frames.losses import loss_of
from crosscast.trainstep.frames.object_kinds import is_loss_name
from crosscast.trainstep.walk.assignments import keep

if TYPE_CHECKING:
    from crosscast.trainstep.walk.walker import Walker


def divided_in_place(walker: Walker, call: ast.Call, frame: Frame) -> bool:
    """`loss.div_(n)` as a statement of its own."""
    function = call.func
    if not isinstance(function, ast.Attribute) or len(call.args) != 1:
        return False
    target = function.value
    if not isinstance(target, ast.Name) or not is_loss_name(target.id):
        return False
    keep(walker, target.id, loss_of(call, frame), frame)
    return True
