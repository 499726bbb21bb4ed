"""PyTorch for the observer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from crosscast_parity.inside.observe_hooks import HookedWatcher, wrap_step
from crosscast_parity.inside.watcher import Array, Watcher


class Torch:
    """What the observer asks."""

    def trained(self, tensor: Any) -> bool:
        """Whether a value is a tensor that backward reaches."""
        return isinstance(tensor, torch.Tensor) and tensor.requires_grad

    def array(self, tensor: Any) -> Array:
        """Return a copy of the values in float32."""
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        # Sharing memory with a tensor that changes later is what the copy prevents.
        return np.array(tensor.detach().to(torch.float32).cpu().numpy(), np.float32)

    def kind(self, tensor: Any) -> str:
        """Return the type, such as `float32`."""
        return str(tensor.dtype).removeprefix("torch.")

    def number(self, value: Any) -> float:
        """Return the value of a scalar; NaN for anything else."""
        try:
            return float(value.detach() if isinstance(value, torch.Tensor) else value)
        except (TypeError, ValueError, RuntimeError):
            return float("nan")

    def watch_step(self, optimizer: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
        """Call `seen` before every step."""
        if hasattr(optimizer, "register_step_pre_hook"):  # PyTorch 2.0
            handle = optimizer.register_step_pre_hook(lambda *ignored: seen())
            remove: Callable[[], None] = handle.remove
            return remove
        return wrap_step(optimizer, seen)


def make_watcher() -> Watcher:
    """Return the watcher of a run."""
    return HookedWatcher(Torch())
