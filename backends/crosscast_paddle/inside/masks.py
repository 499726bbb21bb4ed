"""Paddle's dropout with given masks: the operator, and the uniform numbers of whole axes.

Fused attention computes in several operations, of which dropout is one, as Paddle's own does where
it has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import paddle

from crosscast_parity.inside.manifest import Patches
from crosscast_parity.inside.masks import Masks

LARGEST = 2**31 - 1
UPSCALE = "upscale_in_train"
ATTENTION = "scaled_dot_product_attention"


class PaddleDropout:
    """Stands in for `nn.Dropout` and everything else that ends in `F.dropout`."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._names: dict[int, str] = {}
        self._micro: int | None = None
        self._patches = Patches()
        for name in ("dropout", "dropout_"):
            replaced = self._dropping(name, getattr(paddle._C_ops, name))
            self._patches.replace(paddle._C_ops, name, replaced)
        self._patches.replace(paddle, "uniform", self._uniform(paddle.uniform))
        functional = paddle.nn.functional
        if hasattr(functional, ATTENTION):
            attention = self._attending(getattr(functional, ATTENTION))
            self._patches.replace(functional, ATTENTION, attention)

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function."""
        return function

    def begin(self, model: Any) -> list[str]:
        """Note the layers' names; recurrent and alpha ones drop in a way of their own."""
        if not isinstance(model, paddle.nn.Layer):
            return []
        layers = list(model.named_sublayers(include_self=True))
        self._names = {id(layer): name for name, layer in layers}
        return [name for name, layer in layers if _out_of_reach(layer)]

    def enter(self) -> None:
        """Count a micro-batch."""
        self._micro = self._masks.begin_micro_batch() if self._masks.active else None

    def leave(self) -> None:
        """Do nothing."""

    def undo(self) -> None:
        """Put the functions back."""
        self._patches.undo()

    @property
    def _is_replacing(self) -> bool:
        return self._masks.active and self._micro is not None

    def _name(self, owner: Any) -> str:
        if not isinstance(owner, paddle.nn.Layer):
            return ""
        return self._names.get(id(owner)) or type(owner).__name__

    def _dropping(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def dropout(x: Any, seed_tensor: Any, p: Any, is_test: bool, mode: str, *seed: Any) -> Any:
            if is_test or not self._is_replacing or not 0 < float(p) < 1:
                return original(x, seed_tensor, p, is_test, mode, *seed)
            numbers = self._numbers(x.shape, float(p))
            kept = self._masks.kept(numbers, float(p), upscale=mode == UPSCALE)
            mask = paddle.to_tensor(kept, place=x.place)
            result = x if x.dtype == paddle.float32 else x.astype("float32")
            result = result * mask
            result = result if x.dtype == paddle.float32 else result.astype(x.dtype)
            return x.copy_(result, False) if name.endswith("_") else result

        return dropout

    def _attending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def attention(*args: Any, **kw: Any) -> Any:
            if not self._is_replacing:
                return original(*args, **kw)
            with _in_several_operations():
                return original(*args, **kw)

        return attention

    def _uniform(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def uniform(
            shape: Any,
            dtype: Any = None,
            min: float = -1.0,
            max: float = 1.0,
            *more: Any,
            **kw: Any,
        ) -> Any:
            if not self._is_replacing or (min, max) != (0.0, 1.0):
                return original(shape, dtype, min, max, *more, **kw)
            numbers = paddle.to_tensor(self._numbers(shape, None))
            return numbers if dtype is None else numbers.astype(dtype)

        return uniform

    def _numbers(self, shape: Any, rate: float | None) -> Any:
        # From the generator whose state `recompute` keeps and brings back.
        key = paddle.randint(0, LARGEST, [2]).numpy().tobytes()
        site = self._masks.site(self._name, rate)
        assert self._micro is not None
        return self._masks.draw(self._micro, key, [int(size) for size in shape], site)


def _in_several_operations() -> AbstractContextManager[None]:
    """Return a context without kernels for attention."""
    attention: Any = getattr(paddle.nn, "attention", None)
    if attention is not None:
        math: AbstractContextManager[None] = attention.sdpa_kernel(attention.SDPBackend.MATH)
        return math
    from paddle.nn.functional.flash_attention import sdp_kernel

    older: AbstractContextManager[None] = sdp_kernel(
        enable_math=True, enable_flash=False, enable_mem_efficient=False
    )
    return older


def _out_of_reach(layer: Any) -> bool:
    if isinstance(layer, paddle.nn.layer.rnn.RNNBase):
        return bool(layer.dropout) and layer.num_layers > 1
    return isinstance(layer, paddle.nn.AlphaDropout) and layer.p > 0


def make_dropout(masks: Masks) -> PaddleDropout:
    """Return the replacement of dropout in a run."""
    return PaddleDropout(masks)
