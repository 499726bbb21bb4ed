"""Runs a program that asks for a GPU on the CPU: `on_cpu.py SCRIPT ARG...`, in
the folder of the script.

`cuda` is the CPU, and the loss scaler is enabled. What old programs use and PyTorch no longer takes
still works: masks of bytes, pickles of whole objects.
"""

import contextlib
import os
import runpy
import sys
from pathlib import Path

import torch


def unchanged(value, *ignored, **more):
    return value


def nothing():
    """Return a new function that does nothing."""
    return lambda *ignored, **more: None


def on_cpu(value):
    """Return `cpu` for a GPU, anything else unchanged."""
    kind = value.type if isinstance(value, torch.device) else value
    return "cpu" if isinstance(kind, str) and kind.startswith("cuda") else value


def of_device(original):
    """Return a function whose devices are the CPU."""

    def called(*given, **more):
        given = tuple(map(on_cpu, given))
        if "device" in more:
            more["device"] = on_cpu(more["device"])
        return original(*given, **more)

    return called


def with_booleans(fill):
    """Return a method that takes a mask of bytes, too."""
    return lambda self, mask, value: fill(self, mask.bool(), value)


class Stream:
    def __init__(self, *ignored, **more):
        pass

    wait_stream, synchronize = nothing(), nothing()


def patch():
    torch.Tensor.cuda = torch.nn.Module.cuda = torch.Tensor.pin_memory = unchanged
    torch.Tensor.record_stream = nothing()
    cuda, torch.version.cuda = torch.cuda, "12.0"
    cuda.is_available = lambda: True
    cuda.device_count, cuda.is_bf16_supported = lambda: 1, lambda *ignored: False
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda *ignored: (8, 0)
    cuda.get_device_name = lambda *ignored: "none"
    cuda.memory_allocated = cuda.max_memory_allocated = lambda *ignored: 0
    for name in ("set_device", "synchronize", "manual_seed", "manual_seed_all", "empty_cache"):
        setattr(cuda, name, nothing())
    cuda.Stream = cuda.current_stream = Stream
    cuda.stream = cuda.device = lambda *ignored: contextlib.nullcontext()
    for kind in ("Float", "Long", "Half", "Byte", "Int"):
        setattr(cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    torch.Tensor.to = of_device(torch.Tensor.to)
    torch.nn.Module.to = of_device(torch.nn.Module.to)
    for name in ("zeros", "ones", "empty", "tensor", "randn", "rand", "full", "arange", "randint"):
        setattr(torch, name, of_device(getattr(torch, name)))
    for name in ("masked_fill", "masked_fill_"):
        fill = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, with_booleans(fill))
    load = torch.load
    torch.load = lambda *given, **more: load(*given, **{"weights_only": False, **more})


if __name__ == "__main__":
    patch()
    sys.argv = sys.argv[1:]
    script = Path(sys.argv[0]).resolve()
    os.chdir(script.parent)
    sys.argv[0] = script.name
    sys.path.insert(0, str(script.parent))
    runpy.run_path(sys.argv[0], run_name="__main__")
