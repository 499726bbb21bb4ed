"""The operations of a PyTorch script, seen by a `TorchFunctionMode` (PyTorch 2.0 or newer).

It comes before autocast and before the mode that emulates half precision, whose own casts it
therefore does not see.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from crosscast_parity.inside.lineage import move_of
from crosscast_parity.inside.manifest import Recorder, Tap, canonical
from crosscast_torch.inside.autocast_lists import CPU, CUDA

FUNCTIONAL = "torch.nn.functional"
"""Its functions in Python compute with operations that the mode does not see."""
CASTS = {"to", "type", "type_as", "half", "bfloat16", "float"}
KINDS = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def kind(value: Any) -> str | None:
    """Return the float type of a tensor."""
    return KINDS.get(value.dtype) if isinstance(value, torch.Tensor) else None


def autocast() -> str | None:
    """Return the type of the surrounding autocast."""
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            return KINDS.get(torch.get_autocast_dtype(device))
    return None


class TorchTap:
    """A mode that is entered at start and left at stop."""

    def __init__(self) -> None:
        self._mode: Any = None

    def start(self, recorder: Recorder, model: Any) -> None:
        """Enter the mode; a compiled model would be compiled together with it, or not at all."""
        if self._mode is None and getattr(model, "_compiled_call_impl", None) is None:
            recorder.autocast = autocast()
            recorder.is_usual = lambda: autocast() == recorder.autocast
            recorder.lineage.learned = _learned
            recorder.lineage.listed = in_float32()
            weights: Any = getattr(model, "parameters", list)()
            recorder.frozen = not all(weight.requires_grad for weight in weights)
            named = getattr(model, "named_modules", dict[str, Any]().items)
            recorder.places = {id(module): path for path, module in named()}
            self._mode = _mode(recorder)
            self._mode.__enter__()

    def stop(self) -> None:
        """Leave the mode."""
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)


def in_float32() -> frozenset[str]:
    """List the operations that the surrounding autocast computes in float32 in any case."""
    if autocast() is None:
        return frozenset()
    from crosscast_torch.inside.emulate import EmulatedHalf  # needs PyTorch 2.0

    native = torch.is_autocast_enabled("cpu") and not EmulatedHalf.installed
    return CPU if native else CUDA


def _learned(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _mode(recorder: Recorder) -> Any:
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            called = getattr(func, "__name__", "")
            name = "cast" if called in CASTS else canonical(called)
            if name is None and move_of(called):
                return recorder.move(kind, func, args, kwargs or {})
            if name is None:
                if isinstance(func, FunctionType) and func.__module__ == FUNCTIONAL:
                    recorder.close(called)
                return func(*args, **(kwargs or {}))
            return recorder.call(kind, name, func, args, kwargs or {})

    return Watching()


def make_tap() -> Tap | None:
    """Return the tap; None for a PyTorch without dispatch modes or the autocast queries."""
    has_modes = hasattr(torch.overrides, "TorchFunctionMode")
    return TorchTap() if has_modes and hasattr(torch, "get_autocast_dtype") else None
