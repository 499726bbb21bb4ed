"""Calls that compute gradients."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.events import EventKind
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.losses import PLAIN, Loss, loss_of
from crosscast_reading.trainstep.frames.object_kinds import (
    is_loss_name,
    is_model_name,
    kind_of,
    last_name,
)
from crosscast_reading.trainstep.walk.call_questions import framework

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_LIBRARIES = {
    "accelerator": "accelerate",
    "fabric": "lightning_fabric",
    "engine": "deepspeed",
    "optimizer": "fp16_optimizer",
    "scaler": "",
    "wrapper": "mmengine",
}


def differentiated(
    walker: Walker,
    call: ast.Call,
    loss: ast.expr | None,
    frame: CallFrame,
    *,
    scaler: str = "",
    library: str = "",
    subject: str = "",
    known: Loss | None = None,
) -> None:
    """Note a backward pass, and the divisions of its loss that were not noted yet."""
    if known is None:
        known = loss_of(loss, frame) if loss is not None else PLAIN
    for division in known.divisions:
        walker.divided(division)
    detail: dict[str, Value] = {
        "divided_at": Known(tuple(id(division.node) for division in known.divisions)),
        "multiplied": Known(
            tuple(factor.frame.module.text(factor.by) for factor in known.multiplied)
        ),
    }
    if loss is not None:
        detail["loss"] = Known(frame.module.text(loss))
    for context in reversed(walker.contexts):
        if context.kind == "scale_loss" and not library:
            library = "apex"
            break
    walker.emit(
        "backward",
        call,
        frame,
        subject=subject or (canonical(plain_loss(loss), frame) if loss is not None else ""),
        scaler=scaler or known.scaler,
        library=library,
        detail=detail,
    )


def plain_loss(node: ast.expr) -> ast.expr:
    """Return the loss within `scaler.scale(loss / n)`, `loss.mean()`."""
    while True:
        match node:
            case ast.BinOp(left=left, op=ast.Div() | ast.Mult(), right=right):
                node = right if isinstance(left, ast.Constant) else left
            case ast.Call(
                func=ast.Attribute(attr="scale" | "get_scaled_loss" | "scale_loss"),
                args=[first, *_],
            ):
                node = first
            case ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum" | "float"), args=[]):
                node = inner
            case _:
                return node


def _backward(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    receiver = function.value
    name = frame.module.resolve(function)
    first = call.args[0] if call.args else None
    if name.startswith("torch.autograd") or name.startswith("paddle.autograd"):
        differentiated(walker, call, first, frame)
        return True
    if isinstance(receiver, ast.Call) and last_name(receiver.func) == "super":
        return True
    if first is None:
        if kind_of(receiver, frame) in ("optimizer", "schedule", "sampler"):
            return False
        differentiated(walker, call, receiver, frame)
        return True
    kind = kind_of(receiver, frame)
    if kind == "optimizer" and framework(frame) == "paddle":
        differentiated(walker, call, first, frame, library="paddle_static")
        return True
    if kind in _LIBRARIES:
        subject = canonical(receiver, frame) if kind in ("engine", "optimizer", "wrapper") else ""
        differentiated(walker, call, first, frame, library=_LIBRARIES[kind], subject=subject)
        return True
    mine, given = last_name(receiver), last_name(first)
    if is_loss_name(mine) or kind_of(receiver, frame) == "tape":
        differentiated(walker, call, receiver, frame)
        return True
    if is_loss_name(given) and (is_model_name(mine) or mine == "self"):
        library = "lightning" if mine == "self" else "deepspeed"
        differentiated(walker, call, first, frame, library=library)
        return True
    if is_model_name(mine) or mine in ("self", "layer", "layers"):
        return True
    differentiated(walker, call, receiver, frame)
    return True


def _manual_backward(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    loss = call.args[0] if call.args else None
    differentiated(walker, call, loss, frame, library="lightning")
    return True


def _tape(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`tape.gradient(loss, variables)`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    loss = call.args[0] if call.args else keyword(call, "target")
    differentiated(walker, call, loss, frame, library="tensorflow")
    return True


def _autograd(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`torch.autograd.grad`, `jax.grad(f)(x)`, `jax.value_and_grad(f)`."""
    name = frame.module.resolve(call.func)
    function = call.func
    if name.startswith("torch.") or name.startswith("paddle."):
        loss = call.args[0] if call.args else keyword(call, "outputs")
        detail = {"functional": Known(True)}
        walker.emit(
            "backward", call, frame, subject=canonical(loss, frame) if loss else "", detail=detail
        )
        return True
    scaler = ""
    if isinstance(function, ast.Attribute) and kind_of(function.value, frame) == "scaler":
        scaler = canonical(function.value, frame)
    elif not name.startswith(("jax.", "flax.", "haiku.", "equinox.", "optax.")):
        return True
    differentiated(walker, call, None, frame, scaler=scaler, library="jax")
    return True


def _minimize(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`optimizer.minimize(loss)`, `scaler.minimize(optimizer, scaled)`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    receiver = call.func.value
    kind = kind_of(receiver, frame)
    if kind == "scaler":
        scaler = canonical(receiver, frame)
        subject = canonical(call.args[0], frame) if call.args else ""
        if len(call.args) > 1 and not any(e.kind == "backward" for e in walker.events):
            differentiated(walker, call, call.args[1], frame, library="paddle_static")
        given: dict[str, Value] = {"minimize": Known(True)}
        events: tuple[EventKind, ...] = ("unscale", "step", "update_scale")
        for event in events:
            walker.emit(
                event,
                call,
                frame,
                subject=scaler if event == "update_scale" else subject,
                scaler=scaler,
                library="paddle",
                detail=given,
            )
        return True
    if kind not in ("optimizer", "wrapper") and not _is_fleet(receiver):
        return True
    loss = call.args[0] if call.args else keyword(call, "loss")
    subject = canonical(receiver, frame)
    library = "tensorflow" if framework(frame) == "tensorflow" else "paddle_static"
    before = [e for e in walker.events if e.kind == "backward" and e.library not in _STATIC]
    if not before or library == "tensorflow":
        differentiated(walker, call, loss, frame, library=library)
    else:
        library = "paddle"
    detail: dict[str, Value] = {"minimize": Known(True)}
    walker.emit("step", call, frame, subject=subject, library=library, detail=detail)
    return True


_STATIC = frozenset({"tensorflow", "paddle_static"})


def _is_fleet(node: ast.expr) -> bool:
    return last_name(node) in ("fleet", "dist_optimizer", "strategy")


def _compute_gradients(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if isinstance(call.func, ast.Attribute):
        loss = call.args[0] if call.args else keyword(call, "loss")
        differentiated(walker, call, loss, frame, library="tensorflow")
    return True


def decorated(walker: Walker, call: ast.Call, frame: CallFrame) -> None:
    """Note the call of a function that its decorator makes compute gradients of itself."""
    differentiated(walker, call, None, frame, library="jax")


ACTIONS: dict[str, Callable[[Walker, ast.Call, CallFrame], bool]] = {
    "backward": _backward,
    "manual_backward": _manual_backward,
    "gradient": _tape,
    "grad": _autograd,
    "value_and_grad": _autograd,
    "filter_grad": _autograd,
    "filter_value_and_grad": _autograd,
    "minimize": _minimize,
    "compute_gradients": _compute_gradients,
}
