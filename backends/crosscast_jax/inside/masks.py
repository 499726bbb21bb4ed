"""JAX's dropout with given masks: what `jax.random.bernoulli` draws.

A loss is compiled once, so the compiled function asks NumPy for every mask while it runs, in any
order: a call is told by its place in the traced loss and by the number of the micro-batch. What a
layer computes again asks with the same random key.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flax import nnx

from crosscast_jax.inside.prepare import number
from crosscast_jax.inside.twin import Calls
from crosscast_parity.inside.manifest import Patches
from crosscast_parity.inside.masks import Masks, Site


class CompiledDropout:
    """Stands in for the random booleans of `nnx.Dropout` and everything else that drops."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._lock = threading.Lock()  # compiled functions ask from several threads
        self._calls = Calls()
        self._patches = Patches()
        replaced = self._drawing(jax.random.bernoulli)
        self._patches.replace(jax.random, "bernoulli", replaced)

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: nothing rewrites it."""
        return function

    def begin(self, model: Any) -> list[str]:
        """Return nothing: what Flax drops, it drops by the function that is replaced."""
        return []

    def enter(self) -> None:
        """Count the calls of a traced loss from the start."""
        self._calls.forget()
        self._calls.next()  # so that the first is in a context of its own, too

    def leave(self) -> None:
        """Stop counting."""
        self._calls.forget()

    def undo(self) -> None:
        """Put the function back."""
        self._patches.undo()

    def _drawing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, *more: Any, **kw: Any) -> Any:
            is_replacing = self._masks.active and self._masks.forward
            if not is_replacing or not isinstance(p, int | float) or not shape or not 0 < p < 1:
                return original(key, p, shape, *more, **kw)
            call, rate = self._calls.next() - 1, 1.0 - float(p)
            site = Site(_name_of_caller(), round(rate, 12))

            def draw(micro: Any, bits: Any) -> Any:
                place = int(micro), call
                with self._lock:
                    numbers = self._masks.draw_at(place, np.asarray(bits).tobytes(), shape, site)
                return numbers >= np.float32(rate)

            result = jax.ShapeDtypeStruct(tuple(shape), np.bool_)
            return jax.pure_callback(draw, result, number(), _bits(key))

        return bernoulli


def _bits(key: Any) -> Any:
    return (
        jax.random.key_data(key) if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    )


def _name_of_caller() -> str:
    """Return the path of the innermost module on the stack, in the outermost one."""
    modules: list[Any] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, nnx.Module) and all(owner is not known for known in modules):
            modules.append(owner)
        frame = frame.f_back
    if not modules:
        return ""
    for path, module in nnx.iter_modules(modules[-1]):
        if module is modules[0]:
            return ".".join(map(str, path))
    return type(modules[0]).__name__


def make_dropout(masks: Masks) -> CompiledDropout:
    """Return the replacement of dropout in a run."""
    return CompiledDropout(masks)
