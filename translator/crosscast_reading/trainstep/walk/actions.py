"""What a call does to a training step."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.events import Context
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical, counter_name
from crosscast_reading.trainstep.frames.object_kinds import (
    called_name,
    kind_by_name,
    kind_of,
    last_name,
)
from crosscast_reading.trainstep.walk import (
    clipping,
    gradient_sums,
    gradient_sync,
    gradients,
    inline,
    loss_divisions,
    models,
    step_wrappers,
    unfollowed,
    updates,
)
from crosscast_reading.trainstep.walk.loss_sums import live_loss

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

Action = Callable[["Walker", ast.Call, CallFrame], bool]
"""Notes what a call does; False if it is not of this kind after all."""


def act(walker: Walker, call: ast.Call, frame: CallFrame) -> None:
    """Note what a call does, or walk through the function of the program that it runs."""
    name = called_name(call)
    if _is_operator(name, call, frame) and updates.closure_step(walker, call, frame):
        return
    if name in walker.index.decorated:
        gradients.decorated(walker, call, frame)
        return
    target = inline.target_of(walker, call, frame)
    if target is not None:
        before = len(walker.events)
        inline.follow(walker, call, *target, frame)
        if len(walker.events) == before:
            _empty(walker, call, name, frame)
        return
    action = _ACTIONS.get(name)
    if action is not None:
        if action(walker, call, frame):
            return
    elif (
        step_wrappers.whole_step(walker, call, name, frame)
        or clipping.by_name(walker, call, name, frame)
        or _by_name(walker, call, name, frame)
    ):
        return
    if not models.forward(walker, call, name, frame):
        unfollowed.note(walker, call, name, frame)


def _is_operator(name: str, call: ast.Call, frame: CallFrame) -> bool:
    return name == "step" and bool(call.args) and isinstance(call.func, ast.Attribute)


def _empty(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> None:
    """A function of the program without recognized events: its name may indicate its purpose."""
    if name in ("step", "step_update", "update", "zero_grad", "backward"):
        action = _ACTIONS.get(name)
        if action is not None:
            action(walker, call, frame)
    elif not (clipping.by_name(walker, call, name, frame) or _by_name(walker, call, name, frame)):
        models.forward(walker, call, name, frame)


def _by_name(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> bool:
    """Functions that change the rate or average weights, as their names tell."""
    if not (walker.heads or walker.calls):
        return False
    if _RATE.search(name):
        _rate(walker, call, frame)
        return True
    if (
        _AVERAGE.search(name)
        and not _AVERAGED.search(name)
        and not models.NOT_RUN.search(name.replace("update_", ""))
    ):
        walker.emit("average_weights", call, frame, subject=canonical(call.func, frame))
        return True
    return False


_RATE = re.compile(
    r"^(adjust|set|update|step)_?(the_)?(lr|learning_?rates?|scheduler|lr_scheduler)s?(_\w*)?$"
    r"|^lr_(schedule|adjust|step|scheduler)\w*$|^schedule_lr$|adjust_learning_rate",
    re.I,
)
_AVERAGE = re.compile(
    r"(^|_)ema($|_)|^(update|apply|do)_\w*ema|moving_average|^accumulate_ema", re.I
)
_AVERAGED = re.compile(r"^ema_(arrays|weights|param(eter)?s|state_dict)$", re.I)
"""Functions that return averages."""


def _rate(walker: Walker, call: ast.Call, frame: CallFrame) -> None:
    if any(last_name(argument) == "iterations" for argument in call.args):
        return  # a schedule of Keras is asked for a rate: `schedule(optimizer.iterations)`
    subject = ""
    for argument in call.args:
        if kind_by_name(last_name(argument)) == "optimizer":
            subject = canonical(argument, frame)
    detail: dict[str, Value] = {"by_hand": Known(True)}
    walker.emit("schedule", call, frame, subject=subject, detail=detail)


# ---- schedules, averages, samplers, sums


def _schedule(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if kind_of(call.func.value, frame) not in ("schedule", ""):
        return False
    subject = canonical(call.func.value, frame)
    walker.emit("schedule", call, frame, subject=subject, detail=_arguments(call, frame))
    return True


def _arguments(call: ast.Call, frame: CallFrame) -> dict[str, Value]:
    return {"argument": Known(frame.module.text(call.args[0]))} if call.args else {}


def _update(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    kind = kind_of(call.func.value, frame)
    subject = canonical(call.func.value, frame)
    if kind == "scaler":
        walker.emit("update_scale", call, frame, subject=subject, scaler=subject)
        return True
    if kind == "average":
        walker.emit("average_weights", call, frame, subject=subject)
        return True
    if kind == "optimizer" and _of_nnx(call, frame):
        walker.emit("step", call, frame, subject=subject, library="jax")
        return True
    return kind != ""


def _of_nnx(call: ast.Call, frame: CallFrame) -> bool:
    """Whether it is `optimizer.update(model, grads)`; that of optax returns what is to be added."""
    flax = any(name.partition(".")[0] == "flax" for name in frame.module.imported)
    return flax and isinstance(frame.module.parent(call), ast.Expr)


def _average(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if last_name(call.func) != "update_ema" and kind_of(call.func.value, frame) not in (
        "average",
        "",
    ):
        return False
    walker.emit("average_weights", call, frame, subject=canonical(call.func.value, frame))
    return True


def _set_epoch(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if isinstance(call.func, ast.Attribute):
        subject = canonical(call.func.value, frame)
        walker.emit("set_epoch", call, frame, subject=subject, detail=_arguments(call, frame))
    return True


def _append(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`losses.append(loss)` keeps the graph of every loss."""
    if not walker.heads or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return True
    live = live_loss(call.args[0], frame)
    if live is None:
        return True
    added = Known(frame.module.text(call.args[0]))
    detail: dict[str, Value] = {"detached": Known(not live), "added": added, "list": Known(True)}
    subject = counter_name(call.func.value, frame)
    if not isinstance(call.func.value, ast.Name) or _outlives(walker, call.func.value.id, frame):
        walker.emit("sum_loss", call, frame, subject=subject, detail=detail)
    return True


def _outlives(walker: Walker, name: str, frame: CallFrame) -> bool:
    reference = frame.latest.get(name)
    return reference is None or reference.depth < len(walker.heads)


def _divide(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`loss.div_(n)`, `p.grad.div_(max(1, norm / limit))`."""
    return loss_divisions.divided_in_place(walker, call, frame) or clipping.multiplied(
        walker, call, frame
    )


def _enter_context(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if call.args:
        walker.enter(call.args[0], frame)
    return True


def _make_scaler(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    if any(head.loop.role != "other" for head in walker.heads) or walker.heads:
        detail: dict[str, Value] = {"kind": Known("scaler")}
        walker.emit("make", call, frame, subject=_target(call, frame), detail=detail)
    return True


def _make_optimizer(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    name = frame.module.resolve(call.func)
    if walker.heads and ".optim" in name and "lr_scheduler" not in name:
        detail: dict[str, Value] = {"kind": Known("optimizer")}
        walker.emit("make", call, frame, subject=_target(call, frame), detail=detail)
    return True


def _target(call: ast.Call, frame: CallFrame) -> str:
    around = frame.module.statement_of(call)
    if isinstance(around, ast.Assign):
        return canonical(around.targets[0], frame)
    return ""


def leave_scale_loss(walker: Walker, node: ast.AST, context: Context, frame: CallFrame) -> None:
    """Apex unscales when `with amp.scale_loss(...)` is left."""
    detail = {k: v for k, v in context.detail.items() if k == "delay_unscale"}
    walker.emit(
        "unscale",
        context.node,
        frame,
        subject=context.subject,
        scaler="amp",
        library="apex",
        detail=detail,
    )


_ACTIONS: dict[str, Action] = {
    **gradients.ACTIONS,
    **updates.ACTIONS,
    **gradient_sums.ACTIONS,
    **gradient_sync.ACTIONS,
    **clipping.ACTIONS,
    "step_update": _schedule,
    "step_epoch": _schedule,
    "step_frac": _schedule,
    "div_": _divide,
    "update": _update,
    "update_parameters": _average,
    "update_ema": _average,
    "set_epoch": _set_epoch,
    "append": _append,
    "enter_context": _enter_context,
    "GradScaler": _make_scaler,
    "AmpScaler": _make_scaler,
    **dict.fromkeys(
        ("SGD", "Adam", "AdamW", "RMSprop", "FusedAdam", "FusedLAMB", "Adagrad", "Momentum"),
        _make_optimizer,
    ),
}
