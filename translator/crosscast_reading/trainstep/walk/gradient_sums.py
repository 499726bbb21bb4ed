"""Calls that sum up gradients by hand, or clear such sums."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.object_kinds import last_name

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_GRADIENT = re.compile(r"\bg\b|grad")
ACCUMULATOR = re.compile(r"(accumulator|grad(ient)?s?_accum)$", re.I)
"""Names of objects that add up the gradients they are called with."""
_ACCUMULATORS = re.compile(r"accum|grad", re.I)


def _zero_tensor(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`p.grad.zero_()`, `p.grad.data.zero_()`."""
    text = frame.module.text(call.func)
    if ".grad" in text:
        walker.emit("zero_grad", call, frame, subject=text.partition(".grad")[0])
    return True


def _reset(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`accumulator.reset()`."""
    if isinstance(call.func, ast.Attribute) and _ACCUMULATORS.search(last_name(call.func.value)):
        subject = canonical(call.func.value, frame)
        walker.emit("zero_grad", call, frame, subject=subject, detail={"accumulator": Known(True)})
        return True
    return False


def _accumulate(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`accumulated[i].assign_add(grad)`, `accumulator.accumulate(gradients)`."""
    if not call.args or not isinstance(call.func, ast.Attribute):
        return False
    by_object = last_name(call.func) != "assign_add" and not _ACCUMULATORS.search(
        frame.module.text(call.func)
    )
    if not by_object and _is_gradient(call.args[0], frame):
        subject = canonical(call.func.value, frame)
        walker.emit("accumulate", call, frame, subject=subject)
        return True
    return False


def _is_gradient(node: ast.expr, frame: CallFrame) -> bool:
    """Whether an expression is named a gradient, or is an item of what is named so."""
    texts = [frame.module.text(node)]
    if isinstance(node, ast.Name):
        texts += [
            frame.module.text(binding.value)
            for binding in frame.scope.bindings.get(node.id, [])
            if binding.kind == "loop" and binding.value is not None
        ]
    return any(_GRADIENT.search(text) for text in texts)


def _assign(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`accumulated.assign(tf.zeros_like(accumulated))`."""
    if not call.args or not isinstance(call.func, ast.Attribute):
        return False
    if "zeros" not in frame.module.text(call.args[0]):
        return False
    around = frame.module.enclosing(call, ast.For, ast.ListComp)
    text = frame.module.text(call.func.value)
    if isinstance(around, ast.For):
        text += " " + frame.module.text(around.iter)
    if _ACCUMULATORS.search(text):
        subject = canonical(call.func.value, frame)
        walker.emit("zero_grad", call, frame, subject=subject, detail={"accumulator": Known(True)})
        return True
    return False


def accumulator_call(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`accumulator(gradients)`, `self.grad_accum(gradients)`."""
    name = last_name(call.func)
    if not ACCUMULATOR.search(name) or len(call.args) != 1 or name[:1].isupper():
        return False
    if "grad" not in frame.module.text(call.args[0]).lower():
        return False
    walker.emit("accumulate", call, frame, subject=canonical(call.func, frame))
    return True


ACTIONS: dict[str, Callable[[Walker, ast.Call, CallFrame], bool]] = {
    "zero_": _zero_tensor,
    "reset": _reset,
    "assign_add": _accumulate,
    "assign": _assign,
    "accumulate": _accumulate,
    "accumulate_gradients": _accumulate,
}
