"""Let programs that ask for a GPU train on the CPU, where there is none.

What a program moves to CUDA, or makes there, stays on the CPU: `.cuda()`, `.to("cuda")`,
`device="cuda"`, as arguments of every function of PyTorch. The functions of `torch.cuda` that only
wait for or choose a GPU do nothing. What asks whether there is a GPU is still told that there is
none. Streams, events and kernels of CUDA are not there.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

_QUIET = ("set_device", "synchronize", "reset_peak_memory_stats", "empty_cache")
_ZERO = ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved")


def is_cuda(device: Any) -> bool:
    """Whether a device, as it is written, is a GPU."""
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, str) and (device == "cuda" or device.startswith("cuda:"))


def stay_on_cpu() -> None:
    """Redirect what goes to a GPU for the rest of the process; nothing before PyTorch 1.13."""
    mode: Any = getattr(getattr(torch, "overrides", None), "TorchFunctionMode", None)
    if mode is None:
        return

    class OnCpu(mode):  # type: ignore[misc]  # a class of PyTorch, if it has one
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name, kwargs = getattr(function, "__name__", ""), dict(kwargs or {})
            if name in ("cuda", "pin_memory") and args and isinstance(args[0], torch.Tensor):
                return args[0]
            if name == "to":
                number = len(args) > 1 and type(args[1]) is int  # of a GPU
                args = (args[0], "cpu", *args[2:]) if number else args
                args = tuple("cpu" if is_cuda(each) else each for each in args)
            if is_cuda(kwargs.get("device")):
                kwargs["device"] = "cpu"
            return function(*args, **kwargs)

    OnCpu().__enter__()
    for names, value in ((_QUIET, None), (_ZERO, 0)):
        for name in names:
            setattr(torch.cuda, name, lambda *args, _value=value, **kwargs: _value)
    original = torch.load

    def load(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        here = map_location is None or is_cuda(map_location)
        return original(file, "cpu" if here else map_location, *args, **kwargs)

    torch.load = load


def force(scaler: Any) -> None:
    """Have scalers for CUDA work on the CPU, where there is no GPU."""
    original = scaler.__init__

    @functools.wraps(original)
    def made(self: Any, device: Any = "cuda", *args: Any, **kwargs: Any) -> None:
        missing = str(device).startswith("cuda") and not torch.cuda.is_available()
        original(self, "cpu" if missing else device, *args, **kwargs)

    scaler.__init__ = made
