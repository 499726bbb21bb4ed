"""Averages of the weights that a program keeps itself, as events."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.weight_averages import WeightAverage, average_of
from crosscast_reading.trainstep.frames.weight_sources import model_of

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_TOLERANCE = 1e-9
"""By how much two shares that are written apart may miss 1."""


def averaged(walker: Walker, node: ast.stmt, frame: CallFrame) -> bool:
    """Note that a statement updates an average of the weights; False if it does not."""
    if not walker.heads and not walker.calls:
        return False
    average = average_of(node, frame.module)
    if average is None:
        return False
    model = canonical(model_of(average.target, frame.module), frame)
    detail: dict[str, Value] = {"by_hand": Known(True), "of": Known(model)}
    decay = _decay(average, frame)
    if decay is not None:
        detail["decay"] = decay
    walker.emit(
        "average_weights", node, frame, subject=canonical(average.target, frame), detail=detail
    )
    return True


def _decay(average: WeightAverage, frame: CallFrame) -> Value | None:
    """Return how much of the average stays; None if its shares do not add up to 1."""
    if average.share is None:
        return frame.value(average.decay) if average.decay is not None else None
    rest = _rest_of(average.share, frame)
    if average.decay is None:
        return rest
    decay = frame.value(average.decay)
    match decay, rest:
        case Known(value=int() | float() as one), Known(value=int() | float() as other):
            return decay if abs(one - other) <= _TOLERANCE else None
    text = frame.module.text
    match average.share:
        case ast.BinOp(op=ast.Sub(), right=right) if text(right) == text(average.decay):
            return decay
    match average.decay:
        case ast.BinOp(op=ast.Sub(), right=right) if text(right) == text(average.share):
            return rest
    return None


def _rest_of(share: ast.expr, frame: CallFrame) -> Value:
    """Return 1 minus a share: `d` of `1 - d`."""
    match share:
        case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=decay):
            return frame.value(decay)
    value = frame.value(share)
    match value:
        case Known(value=int() | float() as number, flag=flag):
            return Known(float(f"{1 - number:.15g}"), "derived", f"1 - {flag}" if flag else "")
    return Unknown(f"1 - {frame.module.text(share)}", "it is computed")
