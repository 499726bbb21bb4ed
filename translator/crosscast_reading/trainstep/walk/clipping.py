"""Calls that clip gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.frames import clip_limits
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.library_settings import maker_call
from crosscast_reading.trainstep.frames.object_kinds import called_name, kind_of, last_name
from crosscast_reading.trainstep.frames.weight_sources import holds_gradients
from crosscast_reading.trainstep.walk import clipping_by_hand

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

_BOUND = ("max_norm", "clip_value", "clip_norm", "max_grad_norm", "clip_val", "value", "clip_coef")
_GRADIENT = re.compile(r"grad|^gv?s?$|^g_?v?\d?$|^gv?\[", re.I)
_GRADIENTS = re.compile(r"\bgrads?\b|\bgradients?\b|\bvariables$|\bparameters\(\)")
_NAMED = re.compile(r"clip_?(master_)?grad|grad\w{0,60}clip|clip_norm|clip_value", re.I)


def clipped(
    walker: Walker,
    call: ast.Call,
    frame: CallFrame,
    kind: str,
    bound: ast.expr | None,
    *,
    library: str = "",
    subject: str = "",
) -> None:
    """Note that gradients are clipped."""
    detail: dict[str, Value] = {}
    if kind:
        detail["kind"] = Known(kind)
    if walker.program.function(frame.module.call(call)) is not None:
        detail["own"] = Known(True)
    if bound is not None:
        detail["max"] = frame.value(bound)
        detail["max_text"] = Known(frame.module.text(bound))
    first = call.args[0] if call.args else None
    if first is not None:
        detail["of"] = Known(frame.module.text(first))
        if kind and clip_limits.is_part(first, frame.module):
            detail["kind"] = Known(clip_limits.PARTIAL)
        if _masters(first, frame):
            detail["masters"] = Known(True)
    walker.emit("clip", call, frame, subject=subject, library=library, detail=detail)


def _masters(node: ast.expr, frame: CallFrame) -> bool:
    """Whether the float32 copies of apex are clipped: `amp.master_params(optimizer)`."""
    for part in walk(node):
        if isinstance(part, ast.Call) and last_name(part.func) == "master_params":
            return True
    if isinstance(node, ast.Name):
        reference = frame.find(node.id)
        return (
            reference is not None
            and reference.node is not node
            and "master_params" in (reference.frame.module.text(reference.node))
        )
    return False


def bound_of(call: ast.Call, frame: CallFrame, place: int) -> ast.expr | None:
    """Return the argument that limits the gradients."""
    given = frame.module.call(call).bound()
    for name in _BOUND:
        if name in given:
            return given[name]
    for keyword in call.keywords:
        if keyword.arg in _BOUND:
            return keyword.value
    if len(call.args) > place and not any(isinstance(a, ast.Starred) for a in call.args):
        return call.args[place]
    return None


def _norm(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    function = call.func
    library = ""
    place = 1
    if isinstance(function, ast.Attribute):
        kind = kind_of(function.value, frame)
        library = {
            "accelerator": "accelerate",
            "optimizer": "optimizer",
            "engine": "deepspeed",
        }.get(kind, "")
        method = isinstance(function.value, ast.Name | ast.Attribute)
        if library == "optimizer" or (method and len(call.args) == 1):
            place = 0
    bound = bound_of(call, frame, place)
    own = walker.program.function(frame.module.call(call)) is not None
    given = clip_limits.type_argument(call, frame, len(call.args) if own else place + 1)
    shown = clip_limits.kind_of_norm("global_norm", given, frame)
    clipped(walker, call, frame, shown, bound, library=library)
    return True


def _value(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    library = ""
    if isinstance(call.func, ast.Attribute):
        kind = kind_of(call.func.value, frame)
        library = {"accelerator": "accelerate"}.get(kind, "")
    clipped(walker, call, frame, "value", bound_of(call, frame, 1), library=library)
    return True


def _fabric(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`fabric.clip_gradients(model, optimizer, max_norm=...)`, `self.clip_gradients(...)`."""
    words = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if "clip_val" in words or "max_norm" in words:
        kind = "value" if "clip_val" in words else "global_norm"
        bound = words.get("clip_val") or words.get("max_norm")
        kind = clip_limits.kind_of_norm(kind, words.get("norm_type"), frame)
        clipped(walker, call, frame, kind, bound, library="lightning_fabric")
        return True
    if not words and _of_other_file(call, frame):
        clipped(walker, call, frame, "elsewhere", bound_of(call, frame, 1))
        return True
    way = words.get("gradient_clip_algorithm")
    by_value = isinstance(way, ast.Constant) and way.value == "value"
    bound = words.get("gradient_clip_val")
    kind = "value" if by_value else "global_norm"
    clipped(walker, call, frame, kind, bound, library="lightning")
    return True


def _of_other_file(call: ast.Call, frame: CallFrame) -> bool:
    """Whether it is a function of a module of the project, which the files given do not show."""
    name = frame.module.resolve(call.func)
    inner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if not isinstance(inner, ast.Name) or kind_of(inner, frame) or inner.id == "self":
        return False
    return name.endswith(".clip_gradients") and not name.startswith(("torch.", "lightning"))


def _dispatch(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    words = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    bound = words.get("value") or (call.args[1] if len(call.args) > 1 else None)
    mode = words.get("mode")
    value = frame.value(mode) if mode is not None else Known("norm")
    shown = {"norm": "global_norm", "value": "value"}.get(
        str(value.value) if isinstance(value, Known) else "", "selectable"
    )
    if isinstance(value, Known) and value.flag:
        shown = "selectable"
    if shown == "global_norm":
        shown = clip_limits.kind_of_norm(shown, words.get("norm_type"), frame)
    clipped(walker, call, frame, shown, bound)
    return True


def _tensorflow(kind: str) -> Callable[[Walker, ast.Call, CallFrame], bool]:
    def clip(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
        first = frame.module.text(call.args[0]) if call.args else ""
        if kind != "global_norm" and not _GRADIENT.search(first):
            return False
        bound = bound_of(call, frame, 2 if kind == "value" else 1)
        shown = kind
        if kind == "value":
            bound, symmetric = clipping_by_hand.limits_of(call, call.args[1:], frame)
            shown = kind if symmetric else ""
        ours = frame.module.resolve(call.func).partition(".")[0] == "optax"
        clipped(walker, call, frame, shown, bound, library="jax" if ours else "tensorflow")
        return True

    return clip


def _clamp(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`p.grad.clamp_(-c, c)`; a function of the program of that name may do anything."""
    if not _is_method(walker, call, frame):
        return False
    return clipping_by_hand.clamped(walker, call, call, frame)


def _is_method(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    own = walker.program.function(frame.module.call(call)) is not None
    return isinstance(call.func, ast.Attribute) and not own


def multiplied(walker: Walker, call: ast.Call, frame: CallFrame) -> bool:
    """`p.grad.mul_(coefficient)`, `torch._foreach_mul_(gradients, coefficient)`."""
    if not _is_method(walker, call, frame):
        return False
    given = list(call.args)
    if isinstance(call.func, ast.Attribute) and not call.func.attr.startswith("_foreach"):
        given.insert(0, call.func.value)
    if len(given) < 2 or not holds_gradients(given[0], frame.module):
        return False
    by = clipping_by_hand.divided if "div" in called_name(call) else clipping_by_hand.scaled
    if by(walker, call, given[1], frame):
        return True
    if "clip" not in frame.module.text(call).lower():
        return False
    clipped(walker, call, frame, "", None)
    return True


def clipper_step(walker: Walker, call: ast.Call, frame: CallFrame) -> None:
    """`clipper.step(parameters)` of an object that received the limit at construction."""
    assert isinstance(call.func, ast.Attribute)
    made = maker_call(call.func.value, frame)
    kind, limit = "", None
    for keyword in made.node.keywords if made is not None else ():
        if keyword.arg is not None and ("norm" in keyword.arg or "clip" in keyword.arg):
            kind = "global_norm" if "norm" in keyword.arg else ""
            limit = keyword.value
    clipped(walker, call, frame, kind, limit, subject=canonical(call.func.value, frame))


_MAKES = ("get_", "make_", "build_", "create_", "set_", "_get")


def by_name(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> bool:
    """Recognise a function for clipping that is not to be seen by its name."""
    if not _NAMED.search(name) or not call.args:
        return False
    if name[:1].isupper() or name.startswith(_MAKES):
        return False
    kind = "value" if "value" in name else "global_norm" if "norm" in name else ""
    bound = bound_of(call, frame, 1)
    if "adaptive" in name or (bound is not None and _is_gradient(bound, frame)):
        bound = None  # its order of arguments is its own
    clipped(walker, call, frame, kind, bound, subject=canonical(call.func, frame))
    return True


def _is_gradient(node: ast.expr, frame: CallFrame) -> bool:
    return bool(_GRADIENTS.search(frame.module.text(node)))


ACTIONS: dict[str, Callable[[Walker, ast.Call, CallFrame], bool]] = {
    "clip_grad_norm_": _norm,
    "clip_grad_norm": _norm,
    "clip_master_grads": _norm,
    "clip_grad_value_": _value,
    "clip_grad_value": _value,
    "clip_gradients": _fabric,
    "dispatch_clip_grad": _dispatch,
    "clip_by_global_norm": _tensorflow("global_norm"),
    "clip_by_norm": _tensorflow("per_param_norm"),
    "clip_by_value": _tensorflow("value"),
    "clamp_": _clamp,
    "clip_": _clamp,
    "mul_": multiplied,
    "scale_": multiplied,
    "_foreach_mul_": multiplied,
    "_foreach_div_": multiplied,
}
