"""What assignments mean to a training loop: losses, counters, cleared gradients, learning rates."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.events import Context
from crosscast_reading.trainstep.frames.expression_keys import key_of
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical, counter_name
from crosscast_reading.trainstep.frames.losses import PLAIN, Division, Loss, frame_loss, loss_of
from crosscast_reading.trainstep.frames.object_kinds import (
    is_gradient,
    is_loss_name,
    kind_of,
    last_name,
)
from crosscast_reading.trainstep.walk.gradient_sync import hold_back
from crosscast_reading.trainstep.walk.loss_entries import (
    container_of_each,
    entries_of_literal,
    forget_entries,
)
from crosscast_reading.trainstep.walk.loss_sums import liveness, summed

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_CALM = (ast.Constant, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr, ast.Compare, ast.BoolOp)
"""Values that are no loss."""
_SYNC = frozenset({"require_backward_grad_sync"})
"""Attributes of a model that say whether gradients are reduced."""


def by(division: Division) -> dict[str, Value]:
    """Return the details of a division."""
    frame = division.frame
    detail: dict[str, Value] = {
        "by": frame.value(division.by),
        "by_text": Known(frame.module.text(division.by)),
        "by_key": Known(key_of(division.by, frame)),
    }
    if division.times is not None:
        detail["times"] = Known(frame.module.text(division.times))
    return detail


def assigned(walker: Walker, node: ast.stmt, frame: CallFrame) -> None:
    """Note what a simple statement changes."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _assign(walker, node, target, value, frame)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(walker, node, target, value, frame)
        case ast.AugAssign():
            _augment(walker, node, frame)


def _assign(
    walker: Walker, node: ast.stmt, target: ast.expr, value: ast.expr, frame: CallFrame
) -> None:
    if isinstance(target, ast.Name):
        before = frame.latest.get(target.id)
        loss = PLAIN if isinstance(value, _CALM) else loss_of(value, frame)
        entries = [*entries_of_literal(target.id, value, frame)]
        forget_entries(target.id, frame)
        keep(walker, target.id, loss, frame)
        for name, state in entries:
            keep(walker, name, state, frame)
        summed(walker, node, target, value, before.depth if before else None, frame)
        _reset(walker, node, target, value, frame)
        _gradients(walker, node, target, value, frame)
        frame.live[target.id] = liveness(target.id, value, frame)
        frame.assign(target.id, value, tuple(walker.conditions), len(walker.heads))
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(walker, target, value, frame)
    elif isinstance(target, ast.Attribute):
        if target.attr == "grad" and isinstance(value, ast.Constant) and value.value is None:
            walker.emit("zero_grad", node, frame, subject=_gradient_of(target, frame))
            return
        if target.attr in _SYNC:
            hold_back(walker, target.value, value, frame)
            return
        if not isinstance(value, _CALM):
            keep(walker, canonical(target, frame), loss_of(value, frame), frame)
        _reset(walker, node, target, value, frame)
    elif isinstance(target, ast.Subscript):
        if not isinstance(value, _CALM):
            _keep_entry(walker, target, loss_of(value, frame), frame)
        _subscript(walker, node, target, frame)


def _keep_entry(walker: Walker, target: ast.Subscript, loss: Loss, frame: CallFrame) -> None:
    """Keep the state of an entry; of the whole container, if a loop assigns all its entries."""
    keep(walker, canonical(target, frame), loss, frame)
    container = container_of_each(walker, target, frame)
    if container:
        keep(walker, container, loss, frame)


_SUMS = re.compile(r"accum|acc_?grads?|grads?_?(sum|acc|total)|(sum|total)_grads?", re.I)


def _gradients(
    walker: Walker, node: ast.stmt, target: ast.Name, value: ast.expr, frame: CallFrame
) -> None:
    """`accumulated = [a + g for a, g in zip(accumulated, gradients)]` without a graph of torch."""
    if not _SUMS.search(target.id) or isinstance(value, ast.Constant | ast.Name | ast.Attribute):
        return
    if not any(e.kind == "backward" and e.library in _BY_VALUE for e in walker.events):
        return
    text = frame.module.text(value)
    detail: dict[str, Value] = {"accumulator": Known(True)}
    if "zeros" in text:
        if not walker.heads and all(e.kind != "accumulate" for e in walker.events):
            return  # it is made
        walker.emit("zero_grad", node, frame, subject=target.id, detail=detail)
    elif target.id in text and ("+" in text or "add" in text):
        walker.emit("accumulate", node, frame, subject=target.id)


_BY_VALUE = frozenset({"tensorflow", "jax"})
"""Frameworks whose gradients are values that the program keeps."""


def keep(walker: Walker, name: str, loss: Loss, frame: CallFrame) -> None:
    """Keep the state of a variable that holds a loss, and add events for its divisions."""
    if loss:
        for division in loss.divisions:
            walker.divided(division)
        frame.losses[name] = loss
    elif name in frame.losses:
        frame.losses[name] = PLAIN


def _unpack(
    walker: Walker, target: ast.Tuple | ast.List, value: ast.expr, frame: CallFrame
) -> None:
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else None
    if parts is not None and len(parts) == len(target.elts):
        for element, given in zip(target.elts, parts, strict=True):
            if isinstance(element, ast.Name):
                keep(walker, element.id, loss_of(given, frame), frame)
                frame.assign(element.id, given, tuple(walker.conditions), len(walker.heads))
        return
    loss = loss_of(value, frame)
    for element in target.elts:
        if isinstance(element, ast.Name):
            keep(walker, element.id, loss, frame)
            frame.forget(element.id)
            frame.live.pop(element.id, None)


def _gradient_of(target: ast.Attribute, frame: CallFrame) -> str:
    """Return whose gradients `p.grad` are: `model` of `for p in model.parameters()`."""
    if isinstance(target.value, ast.Name):
        for binding in frame.scope.bindings.get(target.value.id, []):
            if binding.kind == "loop" and binding.value is not None:
                inner = binding.value
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                    return canonical(inner.func.value, frame)
                return canonical(inner, frame)
    return canonical(target.value, frame)


def _subscript(walker: Walker, node: ast.stmt, target: ast.Subscript, frame: CallFrame) -> None:
    """`group["lr"] = lr`: a schedule by hand."""
    key = target.slice
    if not (isinstance(key, ast.Constant) and key.value == "lr"):
        return
    if (walker.heads or walker.calls) and not _stays(walker, node, frame):
        subject = ""
        if isinstance(target.value, ast.Name):
            for binding in frame.scope.bindings.get(target.value.id, []):
                if binding.kind == "loop" and isinstance(binding.value, ast.Attribute):
                    subject = canonical(binding.value.value, frame)
        if not subject and _asks(getattr(node, "value", None)):
            return
        walker.emit("schedule", node, frame, subject=subject, detail={"by_hand": Known(True)})


def _asks(value: ast.expr | None) -> bool:
    """Whether a value is the rate that there is: it is kept for a log, not set."""
    match value:
        case ast.Subscript(value=ast.Call() as inner):  # scheduler.get_last_lr()[0]
            return _asks(inner)
        case ast.Subscript(
            value=ast.Subscript(value=ast.Attribute(attr="param_groups" | "_param_groups")),
            slice=ast.Constant(value="lr"),
        ):
            return True
        case ast.Call(func=ast.Attribute(attr="get_lr" | "get_last_lr"), args=[]):
            return True
        case ast.Call(func=ast.Name(id="float" | "round"), args=[inner, *_]):
            return _asks(inner)
    return False


def _stays(walker: Walker, node: ast.stmt, frame: CallFrame) -> bool:
    """Whether a rate is a name that no round of the loops around gives another value."""
    value = getattr(node, "value", None)
    if not isinstance(node, ast.Assign) or not isinstance(value, ast.Name):
        return False
    bindings = frame.scope.bindings.get(value.id, [])
    loops = [set(map(id, walk(head.loop.node))) for head in walker.heads]
    return bool(bindings) and all(
        binding.kind == "assign"
        and isinstance(binding.value, ast.Name | ast.Attribute | ast.Constant)
        and not any(id(binding.node) in inside for inside in loops)
        for binding in bindings
    )


# ---- counters and sums


def _augment(walker: Walker, node: ast.AugAssign, frame: CallFrame) -> None:
    target, value = node.target, node.value
    name = canonical(target, frame) if isinstance(target, ast.Attribute | ast.Subscript) else ""
    local = target.id if isinstance(target, ast.Name) else name
    if isinstance(node.op, ast.Mult) and is_gradient(target):
        return
    if isinstance(node.op, ast.Div | ast.Mult):
        whole = ast.BinOp(left=target, op=node.op, right=value)
        ast.copy_location(whole, node)
        loss = _scaled_in_place(node, whole, target, frame, local)
        if loss and isinstance(target, ast.Subscript):
            _keep_entry(walker, target, loss, frame)
        elif loss:
            keep(walker, local, loss, frame)
        return
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    if isinstance(value, ast.Constant) or last_name(value) == "int":
        if walker.heads:
            detail = {"by": frame.value(value)}
            walker.emit("count", node, frame, subject=counter_name(target, frame), detail=detail)
        return
    if isinstance(target, ast.Attribute) and target.attr in ("grad", "data"):
        return
    before = frame.latest.get(local)
    summed(walker, node, target, value, before.depth if before else None, frame)
    loss = frame_loss(frame, local).join(loss_of(value, frame))
    if loss:
        keep(walker, local, loss, frame)


def _scaled_in_place(
    node: ast.AugAssign, whole: ast.BinOp, target: ast.expr, frame: CallFrame, local: str
) -> Loss:
    """`loss /= n`, `loss *= 1 / n`."""
    known = frame_loss(frame, local)
    fresh = loss_of(whole, frame)
    divisions = tuple(replace(d, node=node) if d.node is whole else d for d in fresh.divisions)
    multiplied = tuple(replace(d, node=node) if d.node is whole else d for d in fresh.multiplied)
    return known.join(replace(fresh, divisions=divisions, multiplied=multiplied))


def _reset(
    walker: Walker, node: ast.stmt, target: ast.expr, value: ast.expr, frame: CallFrame
) -> None:
    """`micro = 0` of a counter that grows somewhere."""
    if not walker.heads or not isinstance(value, ast.Constant) or type(value.value) is not int:
        return
    if isinstance(target, ast.Name):
        bindings = frame.scope.bindings.get(target.id, [])
    elif isinstance(target, ast.Attribute) and frame.scope.owner is not None:
        bindings = frame.scope.owner.attributes.get(target.attr, [])
    else:
        return
    if any(binding.kind == "augment" for binding in bindings):
        detail: dict[str, Value] = {"to": Known(value.value)}
        walker.emit("count", node, frame, subject=counter_name(target, frame), detail=detail)


# ---- loops and contexts


def looped(target: ast.expr, iterable: ast.expr, frame: CallFrame) -> None:
    """Note that a loop gives its variables new values."""
    for part in walk(target):
        if isinstance(part, ast.Name):
            frame.forget(part.id)
            frame.losses.pop(part.id, None)
            forget_entries(part.id, frame)
            frame.live.pop(part.id, None)
            path = isinstance(iterable, ast.Name | ast.Attribute) and part is target
            if path and (kind_of(iterable, frame) or is_loss_name(last_name(iterable))):
                frame.names[part.id] = canonical(iterable, frame)
                frame.losses[part.id] = loss_of(iterable, frame)


def entered(item: ast.withitem, contexts: Sequence[Context], frame: CallFrame) -> None:
    """Note what `as` gives a name: the scaled loss of `amp.scale_loss`."""
    target = item.optional_vars
    if not isinstance(target, ast.Name):
        return
    call = item.context_expr
    frame.forget(target.id)
    frame.losses.pop(target.id, None)
    scales = any(c.kind == "scale_loss" for c in contexts)
    if scales and isinstance(call, ast.Call) and call.args:
        function = call.func
        scaler = function.value if isinstance(function, ast.Attribute) else function
        known = loss_of(call.args[0], frame)
        frame.losses[target.id] = replace(known, scaler=canonical(scaler, frame))
    if any(c.kind == "tape" for c in contexts):
        frame.assign(target.id, call)
