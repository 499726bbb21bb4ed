"""Choose the device, and tell of it."""

from __future__ import annotations

import argparse
import os
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from .settings import Settings, Stop


def select_device(args: argparse.Namespace, settings: Settings) -> jax.Device:
    """Choose the device and prepare the process for it."""
    if args.threads:  # read when the first device is asked for
        os.environ["NPROC"] = str(args.threads)
    if args.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    device = jax.devices()[0]
    if args.device == "gpu" and device.platform != "gpu":
        raise Stop("cannot_run", 3, "--device gpu, but JAX sees no GPU")
    precision = "tensorfloat32" if settings.tf32 else "highest"
    jax.config.update("jax_default_matmul_precision", precision)
    return device


def process_rank() -> int:
    """Number of this process among the data-parallel ones: there is one."""
    return 0


def lost_process(error: Exception) -> bool:
    """Tell whether an error says that another process of this run has ended."""
    return False


def leave_processes(state: Any, settings: Settings) -> None:
    """End what the processes share: nothing."""


def describe_device(device: jax.Device) -> str:
    """Name of the device for status.json."""
    return device.platform if device.platform == "cpu" else device.device_kind


def peak_memory() -> dict[str, int]:
    """Most bytes that arrays have held on this GPU so far; nothing on a CPU."""
    statistics = jax.devices()[0].memory_stats() or {}
    peak = statistics.get("peak_bytes_in_use")
    return {} if peak is None else {"peak_memory": peak}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers; that of the framework first."""
    names = ("jax", "jaxlib", "flax", "optax")
    return {name: version(name) for name in names} | {"numpy": np.__version__}
