"""toygrad for the observer: its parameters and losses take hooks, its optimizers make steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from toygrad import Tensor

from crosscast_parity.inside.observe_hooks import HookedWatcher, wrap_step
from crosscast_parity.inside.watcher import Array, Watcher


class Toygrad:
    """What the observer asks."""

    def trained(self, tensor: Any) -> bool:
        """Whether a value is a tensor that backward reaches."""
        return isinstance(tensor, Tensor) and tensor.requires_grad

    def array(self, tensor: Any) -> Array:
        """Return a copy of the values in float32."""
        return np.array(
            getattr(tensor, "data" if isinstance(tensor, Tensor) else "real"), np.float32
        )

    def kind(self, tensor: Any) -> str:
        """Return the type, such as `float32`."""
        return str(tensor.dtype)

    def number(self, value: Any) -> float:
        """Return the value of a scalar; NaN for anything else."""
        try:
            return float(value.data if isinstance(value, Tensor) else value)
        except (TypeError, ValueError):
            return float("nan")

    def watch_step(self, optimizer: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
        """Call `seen` before every step."""
        return wrap_step(optimizer, seen)


def make_watcher() -> Watcher:
    """Return the watcher of a run."""
    return HookedWatcher(Toygrad())
