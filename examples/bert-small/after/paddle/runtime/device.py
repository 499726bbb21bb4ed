"""Choose the device, and tell of it and of the processes that train together."""

from __future__ import annotations

import argparse
import os
import signal
import time
import traceback
from typing import Any

import numpy as np
import paddle

from .settings import Settings, Stop


def select_device(args: argparse.Namespace, settings: Settings) -> str:
    """Choose the device and prepare the process for it."""
    gpus = paddle.device.cuda.device_count()
    device = "gpu" if gpus and args.device != "cpu" else "cpu"
    # Paddle's default differs between releases. Read when the GPU is used first.
    os.environ["NVIDIA_TF32_OVERRIDE"] = str(int(settings.tf32))
    if settings.processes > 1:
        if os.environ.get("PADDLE_TRAINERS_NUM") != str(settings.processes):
            made_for = f"made for {settings.processes} processes: start launch.sh"
            raise Stop("failed", 2, made_for)
        if device == "cpu":
            os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
        # What waits for a process that has ended hears no handler.
        heard = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            paddle.distributed.init_parallel_env()
        finally:
            signal.signal(signal.SIGTERM, heard)
    if args.device == "gpu" and not gpus:
        raise Stop("cannot_run", 3, "--device gpu, but Paddle sees no GPU")
    if args.threads:
        paddle.base.core.set_num_threads(args.threads)  # there is no public way
    paddle.device.set_device(device)
    flag = "use_bf16" if settings.half == "bfloat16" else "use_fp16"
    if settings.half and getattr(args, flag, True):
        require_amp(device, settings.half, flag)
    return device


def require_amp(device: str, half: str, flag: str) -> None:
    """Refuse a device on which auto_cast only warns and computes in float32."""
    if device == "cpu":
        message = "AMP is not native on CPU in Paddle, which would use float32 instead"
        message += f"; run on a GPU or pass --{flag}=false"
        raise Stop("cannot_run", 3, message)
    ones = paddle.ones([8, 8])
    with paddle.amp.auto_cast(dtype=half):
        product = paddle.matmul(ones, ones)
    if product.dtype != getattr(paddle, half):
        raise Stop("cannot_run", 3, f"this GPU does not compute in {half}")


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return paddle.distributed.get_rank()


def lost_process(error: Exception) -> bool:
    """Tell whether an error says that another process of this run has ended."""
    # A signal says it, in the middle of any other work: even here, if one more ends.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told = traceback.format_exception(type(error), error, error.__traceback__)
    return any("DataLoader process (pid" in part for part in told)


def leave_processes(state: Any, settings: Settings) -> None:
    """End the process group."""
    if paddle.distributed.is_initialized():
        paddle.distributed.destroy_process_group()
    if settings.processes > 1 and process_rank():
        time.sleep(1.0)  # when one ends in failure, the launcher kills the writing one


def describe_device(device: str) -> str:
    """Name of the device for status.json."""
    return paddle.device.cuda.get_device_name() if device == "gpu" else device


def peak_memory() -> dict[str, int]:
    """Most bytes that tensors have held on this GPU so far; nothing on a CPU."""
    if paddle.device.get_device() == "cpu":
        return {}
    return {"peak_memory": paddle.device.cuda.max_memory_allocated()}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers; that of the framework first."""
    return {"paddle": paddle.__version__, "numpy": np.__version__}
