"""Objects of a library that do a whole step when they are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.function_index import WRAPPED
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name
from crosscast_reading.trainstep.walk import gradient_sums, gradients
from crosscast_reading.trainstep.walk.conditions import PathCondition

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_WORDS = frozenset({"clip_grad", "parameters", "update_grad", "need_update", "create_graph"})
LIBRARY = "timm"


def whole_step(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> bool:
    """`loss_scaler(loss, optimizer, clip_grad=..., parameters=..., need_update=...)`."""
    if gradient_sums.accumulator_call(walker, call, frame):
        return True
    words = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if not WRAPPED.search(name) or len(call.args) < 2 or name[:1].isupper():
        return False
    if not (_WORDS & words.keys() or kind_by_name(last_name(call.args[1])) == "optimizer"):
        return False
    scaler = canonical(call.func, frame)
    loss, optimizer = call.args[0], canonical(call.args[1], frame)
    gradients.differentiated(walker, call, loss, frame, scaler=scaler, library=LIBRARY)
    needed = words.get("update_grad") or words.get("need_update")
    extra = [PathCondition(needed, True, frame, walker.heads)] if needed is not None else []
    limit = words.get("clip_grad")
    walker.emit(
        "unscale", call, frame, subject=optimizer, scaler=scaler, library=LIBRARY, extra=extra
    )
    if limit is not None:
        detail: dict[str, Value] = {
            "max": frame.value(limit),
            "max_text": Known(frame.module.text(limit)),
            "kind": Known("selectable" if "clip_mode" in words else "global_norm"),
        }
        walker.emit("clip", call, frame, library=LIBRARY, detail=detail, extra=extra)
    walker.emit("step", call, frame, subject=optimizer, scaler=scaler, library=LIBRARY, extra=extra)
    walker.emit(
        "update_scale", call, frame, subject=scaler, scaler=scaler, library=LIBRARY, extra=extra
    )
    return True
