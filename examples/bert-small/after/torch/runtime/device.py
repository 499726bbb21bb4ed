"""Choose the device, and tell of it and of the processes that train together."""

from __future__ import annotations

import argparse
import os
import signal
import traceback
from typing import Any

import numpy as np
import torch
import torch.distributed.nn  # imported later, it would keep the process group

from .settings import Settings, Stop


def select_device(args: argparse.Namespace, settings: Settings) -> torch.device:
    """Choose the device and prepare the process for it."""
    if args.device == "gpu" and not torch.cuda.is_available():
        raise Stop("cannot_run", 3, "--device gpu, but PyTorch sees no CUDA device")
    if args.threads:
        torch.set_num_threads(args.threads)
    on_gpu = args.device != "cpu" and torch.cuda.is_available()
    torch.set_float32_matmul_precision("high" if settings.tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = settings.tf32
    if settings.processes > 1:
        if os.environ.get("WORLD_SIZE") != str(settings.processes):
            made_for = f"made for {settings.processes} processes: start launch.sh"
            raise Stop("failed", 2, made_for)
        if on_gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        # What waits for a process that has ended hears no handler.
        heard = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
        finally:
            signal.signal(signal.SIGTERM, heard)
    return torch.device("cuda" if on_gpu else "cpu")


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return int(os.environ.get("RANK", "0"))


def lost_process(error: Exception) -> bool:
    """Tell whether an error says that another process of this run has ended."""
    # A signal says it, in the middle of any other work: even here, if one more ends.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told = traceback.format_exception(type(error), error, error.__traceback__)
    # What waits for a tensor of a dead worker may notice before the signal comes.
    signs = ("DataLoader worker (pid", "resource_sharer.py")
    return any(sign in part for sign in signs for part in told)


def leave_processes(state: Any, settings: Settings) -> None:
    """End the process group."""
    if settings.processes > 1 and state is not None:
        # As the last to hold the group, DistributedDataParallel would join the group's
        # threads without releasing the GIL, and they may need it to free a tensor.
        state.model = getattr(state.model, "module", state.model)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def describe_device(device: torch.device) -> str:
    """Name of the device for status.json."""
    return torch.cuda.get_device_name() if device.type == "cuda" else "cpu"


def peak_memory() -> dict[str, int]:
    """Most bytes that tensors have held on this GPU so far; nothing on a CPU."""
    if not torch.cuda.is_initialized():
        return {}
    return {"peak_memory": torch.cuda.max_memory_allocated()}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers; that of the framework first."""
    return {"torch": torch.__version__, "numpy": np.__version__}
