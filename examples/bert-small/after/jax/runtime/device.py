"""Choose the device, and tell of it and of the processes that train together."""

from __future__ import annotations

import argparse
import os
import time
from importlib.metadata import entry_points, version
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from .settings import Settings, Stop


def select_device(args: argparse.Namespace, settings: Settings) -> jax.Device:
    """Choose the device and prepare the process for it."""
    if args.threads:  # read when the first device is asked for
        os.environ["NPROC"] = str(args.threads)
    if args.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    if settings.processes > 1:
        join_processes(args, settings)
    device = jax.local_devices()[0]
    if args.device == "gpu" and device.platform != "gpu":
        raise Stop("cannot_run", 3, "--device gpu, but JAX sees no GPU")
    precision = "tensorfloat32" if settings.tf32 else "highest"
    jax.config.update("jax_default_matmul_precision", precision)
    return device


def join_processes(args: argparse.Namespace, settings: Settings) -> None:
    """Wait for the other processes, which launch.sh starts."""
    count, rank = settings.processes, process_rank()
    if os.environ.get("WORLD_SIZE") != str(count):
        raise Stop("failed", 2, f"made for {count} processes: start launch.sh")
    # It would take SIGTERM, which asks for a checkpoint here.
    jax.config.update("jax_enable_preemption_service", False)
    # On a CPU an exchange fails at once where a process has ended. Without this, one
    # that fails would wait for the others at its end, and they for it, for minutes.
    on_cpu = args.device == "cpu" or not entry_points(group="jax_plugins")
    jax.config.update("jax_enable_recoverability", on_cpu)
    host, port = os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    local = int(os.environ["LOCAL_RANK"])  # of the devices of this machine
    jax.distributed.initialize(address, count, rank, local_device_ids=[local])
    if jax.device_count() != count:
        each = "every process needs one device"
        raise Stop("failed", 2, f"{each}: {count} have {jax.device_count()}")
    # In the first exchange Gloo waits 30 seconds for the others. It is made while all
    # of them are here, before they read rows and compile.
    multihost_utils.sync_global_devices("joined")


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return int(os.environ.get("RANK", "0"))


def lost_process(error: Exception) -> bool:
    """Tell whether an error says that another process of this run has ended."""
    signs = ("Gloo", "NCCL", "oordination service", "DEADLINE_EXCEEDED")
    of_jax = isinstance(error, jax.errors.JaxRuntimeError)
    return of_jax and any(sign in str(error) for sign in signs)


def leave_processes(state: Any, settings: Settings) -> None:
    """Let the first process, where all of them meet, be the last one."""
    if settings.processes > 1 and process_rank():
        jax.distributed.shutdown()  # what is cleaned up at the end may take longer
    elif settings.processes > 1:
        time.sleep(2.0)


def describe_device(device: jax.Device) -> str:
    """Name of the device for status.json."""
    return device.platform if device.platform == "cpu" else device.device_kind


def peak_memory() -> dict[str, int]:
    """Most bytes that arrays have held on this GPU so far; nothing on a CPU."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    peak = statistics.get("peak_bytes_in_use")
    return {} if peak is None else {"peak_memory": peak}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers; that of the framework first."""
    names = ("jax", "jaxlib", "flax", "optax")
    return {name: version(name) for name in names} | {"numpy": np.__version__}
