"""The operations of a Paddle script: the functions below `paddle`, operators, fused attention.

They are wrapped on top of what the emulation may have put there, so its own casts do not show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
from paddle.amp.amp_lists import black_list, white_list

from crosscast_paddle.inside.emulate import policy_names
from crosscast_parity.inside.lineage import move_of
from crosscast_parity.inside.manifest import Patches, Recorder, Tap, canonical

ATTENTION = ("scaled_dot_product_attention",)
KINDS = {paddle.float32: "float32", paddle.float16: "float16", paddle.bfloat16: "bfloat16"}


def kind(value: Any) -> str | None:
    """Return the float type of a tensor."""
    return KINDS.get(value.dtype) if isinstance(value, paddle.Tensor) else None


def autocast() -> str | None:
    """Return the type of the surrounding auto_cast."""
    tracer = paddle.framework._dygraph_tracer()
    if tracer._amp_level == paddle.base.core.AmpLevel.O0:
        return None
    return str(tracer._amp_dtype)


def usual() -> bool:
    """Whether there is an auto_cast of level O1 with Paddle's own lists."""
    tracer, dtype = paddle.framework._dygraph_tracer(), autocast()
    if dtype is None:
        return False
    own = tuple(names()[dtype]["O1"] for names in (white_list, black_list))
    lists = tuple(map(set, tracer._get_amp_op_list()))
    return tracer._amp_level == paddle.base.core.AmpLevel.O1 and lists == own


def learned(value: Any) -> bool:
    """Whether a gradient reaches a tensor."""
    return isinstance(value, paddle.Tensor) and not value.stop_gradient


class PaddleTap:
    """Wraps every operation that has a canonical name."""

    def __init__(self) -> None:
        self._patches = Patches()

    def start(self, recorder: Recorder, model: Any) -> None:
        """Wrap them."""
        if self._patches.made:
            return
        recorder.autocast = autocast()
        recorder.is_usual = usual
        recorder.lineage.learned = learned
        if recorder.autocast:
            recorder.lineage.listed = policy_names(black_list()[recorder.autocast]["O1"])
        weights: Any = getattr(model, "parameters", list)()
        recorder.frozen = any(weight.stop_gradient for weight in weights)
        named = getattr(model, "named_sublayers", None)
        recorder.places = (
            {id(layer): path for path, layer in named(include_self=True)} if named else {}
        )
        # Methods call the functions; only operators and fused attention have a way of their own.
        operators = [name for name in dir(paddle.Tensor) if name.startswith("__")]
        attention = [name for name in ATTENTION if hasattr(paddle.nn.functional, name)]
        for owner, names in (
            (paddle._C_ops, dir(paddle._C_ops)),
            (paddle.Tensor, operators),
            (paddle.nn.functional, attention),
        ):
            for name in names:
                known = canonical(name)
                original = getattr(owner, name)
                if known:
                    self._patches.replace(owner, name, _wrapped(recorder, known, original))
                elif move_of(name):
                    self._patches.replace(owner, name, _moving(recorder, original))

    def stop(self) -> None:
        """Put them back."""
        self._patches.undo()


def _wrapped(recorder: Recorder, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def operation(*args: Any, **kwargs: Any) -> Any:
        return recorder.call(kind, name, function, args, kwargs)

    return operation


def _moving(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    def move(*args: Any, **kwargs: Any) -> Any:
        return recorder.move(kind, function, args, kwargs)

    return move


def make_tap() -> Tap | None:
    """Return the tap; None for a Paddle without `_C_ops`."""
    return PaddleTap() if hasattr(paddle, "_C_ops") else None
