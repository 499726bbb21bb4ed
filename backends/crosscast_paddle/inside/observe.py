"""Paddle for the observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from crosscast_parity.inside.observe_hooks import HookedWatcher, wrap_step
from crosscast_parity.inside.watcher import Array, Watcher


class Paddle:
    """What the observer asks."""

    def trained(self, tensor: Any) -> bool:
        """Whether a value is a tensor that backward reaches."""
        return isinstance(tensor, paddle.Tensor) and not tensor.stop_gradient

    def array(self, tensor: Any) -> Array:
        """Return a copy of the values in float32."""
        values = tensor.numpy()
        if values.dtype == np.uint16:  # bfloat16, the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return np.array(values, np.float32)

    def kind(self, tensor: Any) -> str:
        """Return the type, such as `float32`."""
        return str(tensor.dtype).removeprefix("paddle.")

    def number(self, value: Any) -> float:
        """Return the value of a scalar; NaN for anything else."""
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError):
            return float("nan")

    def watch_step(self, optimizer: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
        """Call `seen` before every step."""
        return wrap_step(optimizer, seen)


def make_watcher() -> Watcher:
    """Return the watcher of a run."""
    return HookedWatcher(Paddle())
