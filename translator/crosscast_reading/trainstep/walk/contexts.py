"""What a `with` block or a decorator is: autocast, no_sync, accumulate, scale_loss, a tape."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.pysource.values.value import Unknown, Value
from crosscast_reading.trainstep.events import Context, ContextKind, Guard
from crosscast_reading.trainstep.frames.frame import CallFrame, Reference, canonical
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.frames.object_kinds import last_name
from crosscast_reading.trainstep.walk.conditions import PathCondition

_KINDS: dict[str, ContextKind] = {
    "autocast": "autocast",
    "auto_cast": "autocast",
    "amp_guard": "autocast",
    "amp_autocast": "autocast",
    "autocast_context": "autocast",
    "optim_context": "autocast",
    "no_sync": "no_sync",
    "no_backward_sync": "no_sync",
    "no_sync_context_manager": "no_sync",
    "skip_synchronize": "other",
    "accumulate": "accumulate",
    "scale_loss": "scale_loss",
    "scaled_loss": "scale_loss",
    "GradientTape": "tape",
    "no_grad": "no_grad",
    "inference_mode": "no_grad",
    "set_grad_enabled": "no_grad",
}
_SETTINGS: dict[ContextKind, tuple[str, ...]] = {
    "autocast": ("enabled", "enable", "dtype"),
    "scale_loss": ("delay_unscale",),
}
"""Arguments that may be among starred ones."""
_EMPTY = frozenset({"nullcontext", "suppress", "null_context", "empty_context", "ExitStack"})


def contexts_of(
    node: ast.expr, frame: CallFrame, heads: Sequence[LoopHead], depth: int = 0
) -> list[Context]:
    """Return the contexts that an entered expression may be; several if a condition decides."""
    if depth > 6:
        return []
    if isinstance(node, ast.IfExp):
        return _either(node, frame, heads, depth)
    if isinstance(node, ast.Call):
        kind = context_kind(last_name(node.func))
        if kind == "no_grad" and _lets_learn(node):
            kind = "other"
        if kind is not None:
            return [_made(node, kind, frame, heads)]
        if isinstance(node.func, ast.Name | ast.IfExp | ast.Attribute):
            inner = _called(node.func, frame, heads, depth)
            if inner:
                return inner
        if last_name(node.func) in _EMPTY or not node.args:
            return []
        for argument in node.args:
            if isinstance(argument, ast.Call | ast.Name):
                inner = contexts_of(argument, frame, heads, depth + 1)
                if inner:
                    return inner
        return []
    if isinstance(node, ast.Name):
        contexts: list[Context] = []
        for reference in frame.all(node.id):
            if reference.node is not node:
                inner = contexts_of(reference.node, reference.frame, heads, depth + 1)
                contexts += [_under(c, reference) for c in inner]
        return contexts
    if isinstance(node, ast.Attribute):
        kind = context_kind(node.attr)
        if kind is not None:
            return [_made(node, kind, frame, heads)]
    return []


def _lets_learn(node: ast.Call) -> bool:
    """`torch.set_grad_enabled(training)`: with anything but False, gradients may be wanted."""
    if last_name(node.func) != "set_grad_enabled" or not node.args:
        return False
    return not (isinstance(node.args[0], ast.Constant) and node.args[0].value is False)


def context_kind(name: str) -> ContextKind | None:
    """Return the kind of a context manager of this name."""
    return _KINDS.get(name)


def _called(
    function: ast.expr, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> list[Context]:
    """`ctx()` where `ctx = model.no_sync if more else nullcontext`, or a partial of autocast."""
    if isinstance(function, ast.IfExp):
        return _either(function, frame, heads, depth)
    if isinstance(function, ast.Name):
        contexts: list[Context] = []
        for reference in frame.all(function.id):
            contexts += [_under(c, reference) for c in _made_from(reference, heads, depth)]
        return contexts
    return []


def _under(context: Context, reference: Reference) -> Context:
    """Add the conditions under which a variable got this context."""
    more = tuple(c.guard() for c in reference.under if isinstance(c, PathCondition))
    return replace(context, guards=(*more, *context.guards)) if more else context


def _made_from(reference: Reference, heads: Sequence[LoopHead], depth: int) -> list[Context]:
    node, frame = reference.node, reference.frame
    if isinstance(node, ast.Call) and last_name(node.func) == "partial" and node.args:
        kind = context_kind(last_name(node.args[0]))
        return [_made(node, kind, frame, heads)] if kind is not None else []
    if isinstance(node, ast.Name | ast.Attribute):
        kind = context_kind(last_name(node))
        if kind is not None:
            return [_made(node, kind, frame, heads)]
    return contexts_of(node, frame, heads, depth + 1)


def _either(
    node: ast.IfExp, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> list[Context]:
    contexts: list[Context] = []
    for branch, holds in ((node.body, True), (node.orelse, False)):
        inner = contexts_of(branch, frame, heads, depth + 1)
        if not inner and isinstance(branch, ast.Name | ast.Attribute):
            kind = context_kind(last_name(branch))
            inner = [_made(branch, kind, frame, heads)] if kind is not None else []
        guard = PathCondition(node.test, holds, frame, heads).guard() if inner else None
        contexts += [replace(c, guards=(guard, *c.guards)) for c in inner if guard is not None]
    return contexts


def _switch(node: ast.expr, frame: CallFrame, heads: Sequence[LoopHead]) -> tuple[Guard, ...]:
    """`fabric.no_backward_sync(model, enabled=accumulating)`."""
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if keyword.arg == "enabled":
            return (PathCondition(keyword.value, True, frame, heads).guard(),)
    return ()


def _made(
    node: ast.expr, kind: ContextKind, frame: CallFrame, heads: Sequence[LoopHead] = ()
) -> Context:
    module = frame.module
    detail: dict[str, Value] = {}
    name = ""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call):
        if last_name(function) == "partial" and node.args:
            function = node.args[0]
            detail = {k.arg: frame.value(k.value) for k in node.keywords if k.arg}
        else:
            call = module.call(node)
            detail = {key: frame.value(value) for key, value in call.bound().items()}
            for word in _SETTINGS.get(kind, ()) if call.has_star else ():
                detail.setdefault(word, Unknown(module.text(node), "it may be among the others"))
        name = module.resolve(function)
    else:
        name = module.resolve(node)
    subject = canonical(function.value, frame) if isinstance(function, ast.Attribute) else ""
    guards = _switch(node, frame, heads) if kind == "no_sync" else ()
    if kind == "scale_loss" and isinstance(node, ast.Call) and len(node.args) > 1:
        subject = canonical(node.args[1], frame)
    return Context(
        kind=kind,
        node=node,
        name=name or module.text(function),
        detail=detail,
        guards=guards,
        subject=subject,
    )
