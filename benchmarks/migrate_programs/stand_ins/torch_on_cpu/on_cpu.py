"""Runs a program that asks for a GPU on the CPU, in the folder of the script:

    on_cpu.py [--absent=NAME,...] [--before=FILE] [--set=NAME=VALUE ...] SCRIPT ARG...

`cuda` is the CPU, and the loss scaler is enabled. A group of processes is this one alone. What old
programs use and PyTorch no longer takes still works, such as masks of bytes.
`--absent`: modules that are not here, of which nothing is needed. `--before`: run first, beside the
script, to make what is large smaller. `--set`: other constants in the script. Rows are loaded here.
"""

import collections.abc
import contextlib
import os
import re
import runpy
import sys
import types
from pathlib import Path

import absent
import numpy
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


def moved(original):
    """Return a method `to` whose devices, by name or number, are the CPU."""
    called = of_device(original)

    def to(self, *given, **more):
        given = ["cpu" if type(value) is int else value for value in given]
        return called(self, *given, **more)

    return to


def first_only(function, args=(), nprocs=1, **more):
    """Call what processes would run in this process, as the first of them."""
    return function(0, *args)


def alone(start):
    """Return a function that starts a group of this process alone."""
    store = torch.distributed.HashStore()
    return lambda *ignored, **more: start("gloo", store=store, rank=0, world_size=1)


def in_this_process(made):
    """Return the constructor of a loader without workers."""

    def init(self, *given, **more):
        for name in ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory"):
            more.pop(name, None)
        made(self, *given, **more)

    return init


def of_pairs(stft):
    """Return a transform that gives pairs of numbers if it is not asked for complex ones."""

    def called(*given, **more):
        pairs = not more.pop("return_complex", False)
        found = stft(*given, return_complex=True, **more)
        return torch.view_as_real(found) if pairs else found

    return called


def without_devices(made):
    """Return a constructor without the devices of its module."""

    def init(self, module, device_ids=None, output_device=None, **more):
        made(self, module, **more)

    return init


def with_whole_numbers(clamp):
    """Return a method that takes bounds which are no integers for integers, too."""

    def called(self, *bounds, **named):
        if not self.is_floating_point():
            bounds, named = map(int, bounds), {name: int(at) for name, at in named.items()}
        return clamp(self, *bounds, **named)

    return called


def with_booleans(fill):
    """Return a method that takes a mask of bytes, too."""
    return lambda self, mask, value: fill(self, mask.bool(), value)


class OneDevice(torch.nn.Module):
    """Data parallelism of one device."""

    def __init__(self, module, *ignored, **more):
        super().__init__()
        self.module = module

    def forward(self, *given, **more):
        return self.module(*given, **more)


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
    cuda.get_device_properties = lambda *ignored: types.SimpleNamespace(name="", total_memory=0)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "memory_cached"):
        setattr(cuda, name, lambda *ignored: 0)
    for name in ("set_device", "synchronize", "manual_seed", "manual_seed_all", "empty_cache"):
        setattr(cuda, name, nothing())
    cuda.Stream = cuda.current_stream = Stream
    cuda.stream = cuda.device = lambda *ignored: contextlib.nullcontext()
    for kind in ("Float", "Long", "Half", "Byte", "Int"):
        setattr(cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    torch.Tensor.to = moved(torch.Tensor.to)
    torch.nn.Module.to = moved(torch.nn.Module.to)
    for name in ("zeros", "ones", "empty", "tensor", "randn", "rand", "full", "arange", "randint"):
        setattr(torch, name, of_device(getattr(torch, name)))
    torch.Tensor.clamp_ = with_whole_numbers(torch.Tensor.clamp_)
    for name in ("masked_fill", "masked_fill_"):
        fill = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, with_booleans(fill))
    group, parallel = torch.distributed, torch.nn.parallel.DistributedDataParallel
    group.init_process_group = alone(group.init_process_group)
    parallel.__init__ = without_devices(parallel.__init__)
    torch.nn.SyncBatchNorm.convert_sync_batchnorm = staticmethod(unchanged)
    torch.nn.DataParallel = torch.nn.parallel.DataParallel = OneDevice
    torch.multiprocessing.spawn = first_only
    torch.compile = unchanged
    torch.stft = of_pairs(torch.stft)
    loader = torch.utils.data.DataLoader
    loader.__init__ = in_this_process(loader.__init__)
    torch.hub.list = lambda *ignored, **more: []
    old = types.ModuleType("torch._six")
    old.inf, old.string_classes, old.container_abcs = torch.inf, (str, bytes), collections.abc
    sys.modules["torch._six"] = old
    numpy.float, numpy.int, numpy.object = float, int, object
    for name in ("Callable", "Iterable", "Mapping", "Sequence"):
        setattr(collections, name, getattr(collections.abc, name))
    load = torch.load
    torch.load = lambda *given, **more: load(*given, **{"weights_only": False, **more})


if __name__ == "__main__":
    patch()
    sys.argv = sys.argv[1:]
    options, constants = {}, []
    while sys.argv[0].startswith("--"):
        name, _, value = sys.argv.pop(0).partition("=")
        options[name] = value
        if name == "--set":
            constants.append(value.split("=", 1))
    absent.install(options.get("--absent", "").split(","))
    script = Path(sys.argv[0]).resolve()
    os.chdir(script.parent)
    sys.argv[0] = script.name
    sys.path.insert(0, str(script.parent))
    for name, value in constants:
        text = re.sub(rf"(?m)^(\s*{name}\s*=\s*)\S.*$", rf"\g<1>{value}", script.read_text())
        script.write_text(text)
    if "--before" in options:
        runpy.run_path(options["--before"])
    runpy.run_path(sys.argv[0], run_name="__main__")
