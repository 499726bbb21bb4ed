"""Calls that unscale, apply or clear gradients."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, kind_of, last_name
from crosscast_reading.trainstep.walk import inline
from crosscast_reading.trainstep.walk.call_questions import framework
from crosscast_reading.trainstep.walk.clipping import clipper_step
from crosscast_reading.trainstep.walk.gradients import differentiated

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker


def closure_step(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`optimizer.step(closure)`: the closure runs first. True if that is what it was."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    first = call.args[0]
    if kind_of(function.value, frame) not in ("optimizer", ""):
        return False
    name = last_name(first)
    called = isinstance(first, ast.Lambda) or "closure" in name or name == "partial"
    if not called:
        target = frame.module.resolve(first) if isinstance(first, ast.Name | ast.Attribute) else ""
        called = ":" in target and walker.program.function_named(target) is not None
    if not called:
        return False
    inline.closure(walker, first, frame)
    _step(walker, call, frame)
    return True


def _step(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    receiver = function.value
    kind = kind_of(receiver, frame)
    subject = canonical(receiver, frame)
    first = call.args[0] if call.args else keyword(call, "optimizer")
    given = _argument_kind(first, frame)
    if kind == "scaler" or (kind == "" and given == "optimizer"):
        target = canonical(first, frame) if first is not None else ""
        walker.emit("step", call, frame, subject=target, scaler=subject)
    elif kind == "optimizer":
        walker.emit("step", call, frame, subject=subject, library=_engine_of(subject, walker))
    elif kind == "schedule":
        detail: dict[str, Value] = {}
        if first is not None:
            detail["argument"] = Known(frame.module.text(first))
        walker.emit("schedule", call, frame, subject=subject, detail=detail)
    elif kind == "average":
        walker.emit("average_weights", call, frame, subject=subject)
    elif kind == "clipper":
        clipper_step(walker, call, frame)
    elif kind == "engine" or (kind == "" and _ran_backward(receiver, frame, walker)):
        walker.emit("step", call, frame, subject=subject, library="deepspeed")
        walker.emit("zero_grad", call, frame, subject=subject, library="deepspeed")
    else:
        return False
    return True


def _argument_kind(node: ast.expr | None, frame: CallFrame) -> str:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return kind_of(node, frame)
    return ""


def _engine_of(subject: str, walker: Walker) -> str:
    for event in reversed(walker.events):
        if event.kind == "backward":
            return event.library if event.library == "accelerate" else ""
    return ""


def _ran_backward(receiver: ast.expr, frame: CallFrame, walker: Walker) -> bool:
    """Whether `model.backward(loss)` of the same object was seen: an engine."""
    name = canonical(receiver, frame)
    return any(
        e.kind == "backward" and e.library == "deepspeed" and _receiver_text(e.node, frame) == name
        for e in walker.events
    )


def _receiver_text(node: ast.AST, frame: CallFrame) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return canonical(node.func.value, frame)
    return ""


def _apply(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`optimizer.apply_gradients(...)`, `state.apply_gradients(grads=...)`, `optimizer.apply`."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    name = last_name(function)
    subject = canonical(function.value, frame)
    kind = kind_of(function.value, frame)
    if name == "apply" and kind == "average":  # tf.train.ExponentialMovingAverage
        walker.emit("average_weights", call, frame, subject=subject)
        return True
    if name == "apply" and kind != "optimizer":
        return False
    library = {"jax": "jax", "paddle": "paddle_static"}.get(framework(frame), "tensorflow")
    walker.emit("step", call, frame, subject=subject, library=library)
    return True


def _apply_updates(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    walker.emit("step", call, frame, subject=frame.module.text(call.func), library="jax")
    return True


def _opt_update(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`opt_update(i, grads, opt_state)` of JAX' examples; that of optax returns what is added."""
    statement = frame.module.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if any("update" in frame.module.text(target) for target in targets):
        return True
    walker.emit("step", call, frame, subject="opt_update", library="jax")
    return True


def _optimizer_step(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`xm.optimizer_step(optimizer)`."""
    if call.args and kind_of(call.args[0], frame) in ("optimizer", ""):
        name = frame.module.resolve(call.func)
        library = "torch_xla" if "xla" in name or last_name(call.func) == "optimizer_step" else ""
        subject = canonical(call.args[0], frame)
        walker.emit("step", call, frame, subject=subject, library=library)
    return True


def _update_params(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`optim_wrapper.update_params(loss)` does everything."""
    if not isinstance(call.func, ast.Attribute) or kind_of(call.func.value, frame) not in (
        "wrapper",
        "optimizer",
    ):
        return True
    subject = canonical(call.func.value, frame)
    loss = call.args[0] if call.args else None
    differentiated(walker, call, loss, frame, library="mmengine")
    walker.emit("step", call, frame, subject=subject, library="mmengine")
    walker.emit("zero_grad", call, frame, subject=subject, library="mmengine")
    return True


# ---- unscale, zero


def _unscale(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    kind = kind_by_name(last_name(function.value))
    library = {"accelerator": "accelerate"}.get(kind, "")
    subject = canonical(call.args[0], frame) if call.args else ""
    if last_name(function) == "get_unscaled_gradients":
        library, subject = "tensorflow", canonical(function.value, frame)
    scaler = canonical(function.value, frame)
    walker.emit("unscale", call, frame, subject=subject, scaler=scaler, library=library)
    return True


def _zero(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    detail: dict[str, Value] = {}
    none = keyword(call, "set_to_none")
    if none is not None:
        detail["set_to_none"] = frame.value(none)
    walker.emit("zero_grad", call, frame, subject=canonical(function.value, frame), detail=detail)
    return True


ACTIONS: dict[str, Callable[[Walker, ast.Call, CallFrame], bool]] = {
    "step": _step,
    "apply_gradients": _apply,
    "apply_gradient": _apply,
    "apply": _apply,
    "apply_updates": _apply_updates,
    "opt_update": _opt_update,
    "optimizer_step": _optimizer_step,
    "update_params": _update_params,
    "unscale_": _unscale,
    "unscale_gradients": _unscale,
    "get_unscaled_gradients": _unscale,
    "zero_grad": _zero,
    "clear_grad": _zero,
    "clear_gradients": _zero,
}
