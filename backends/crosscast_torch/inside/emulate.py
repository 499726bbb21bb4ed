"""Emulated half precision in PyTorch: the policy of `emulate` instead of the CPU's autocast."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from crosscast_parity.inside.emulate import MATMUL, call
from crosscast_torch.inside.autocast_lists import CUDA

KINDS = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
DTYPES = {kind: dtype for dtype, kind in KINDS.items()}


class TorchTensors:
    """PyTorch for the policy. Autocast is read from the script's own `torch.autocast`."""

    def kind(self, value: Any) -> str | None:
        """Return the float type of a tensor."""
        return KINDS.get(value.dtype) if isinstance(value, torch.Tensor) else None

    def cast(self, value: Any, kind: str) -> Any:
        """Return the tensor in another type."""
        return value.to(DTYPES[kind])

    def casts_to(self, name: str) -> str | None:
        """Return the type to which the surrounding autocast casts, by the lists of GPUs."""
        if not torch.is_autocast_enabled("cpu"):
            return None
        if name in CUDA:
            return "float32"
        if name not in MATMUL:
            return None
        return KINDS[torch.get_autocast_dtype("cpu")]

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function without autocast."""
        enabled = torch.is_autocast_enabled("cpu")
        torch.set_autocast_enabled("cpu", False)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_autocast_enabled("cpu", enabled)


class EmulatedHalf(TorchFunctionMode):  # type: ignore[misc]
    """Sees every operation before autocast does; what it calls itself, it does not see."""

    installed = False
    tensors = TorchTensors()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call one operation as the policy says."""
        name = getattr(func, "__name__", "")
        return call(self.tensors, name, func, args, kwargs or {})


def install() -> Callable[[Any], None]:
    """Emulate from now on, in this thread, until the process ends.

    Models are not compiled: the compiler fuses operations and leaves out the casts between them.
    """
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    mode = EmulatedHalf()
    EmulatedHalf.installed = True
    mode.__enter__()
    run_backward = torch.autograd._engine_run_backward

    # Backward is itself seen by the mode, which is therefore off within it; but checkpointed
    # layers are recomputed there.
    def run_backward_in_mode(*args: Any, **kwargs: Any) -> Any:
        with mode:
            return run_backward(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward_in_mode
    return lambda module: None
