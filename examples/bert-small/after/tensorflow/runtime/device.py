"""Choose the device, and tell of it and of the processes that train together."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .settings import Settings, Stop


def select_device(args: argparse.Namespace, settings: Settings) -> str:
    """Choose the device and prepare the process for it."""
    gpus = tf.config.list_physical_devices("GPU")
    if args.device == "gpu" and not gpus:
        raise Stop("cannot_run", 3, "--device gpu, but TensorFlow sees no GPU")
    if args.threads:
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    first = 0
    if settings.processes > 1:
        workers, rank = cluster()
        if len(workers) != settings.processes or rank not in range(len(workers)):
            made_for = f"made for {settings.processes} processes: start launch.sh"
            raise Stop("failed", 2, made_for)
        # The processes of a machine share its GPUs out, one each.
        hosts = [address.rpartition(":")[0] for address in workers]
        first = hosts[:rank].count(hosts[rank]) % max(1, len(gpus))
    used = gpus[first : first + 1] if args.device != "cpu" else []
    tf.config.set_visible_devices(used, "GPU")
    for gpu in used:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.experimental.enable_tensor_float_32_execution(settings.tf32)
    return "/GPU:0" if used else "/CPU:0"


def cluster() -> tuple[list[str], int]:
    """Addresses of all processes and number of this one, as TF_CONFIG says."""
    try:
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        # Of one kind: a chief or an evaluator would do something else.
        (workers,) = config["cluster"].values()
        return list(workers), int(config["task"]["index"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return [], 0


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return cluster()[1]


def lost_process(error: Exception) -> bool:
    """Tell whether an error says that another process of this run has ended."""
    return isinstance(error, tf.errors.UnavailableError)


def leave_processes(state: Any, settings: Settings) -> None:
    """Let the first process write its status: launch.sh ends all at once."""
    if settings.processes > 1 and process_rank():
        time.sleep(1.0)


def describe_device(device: str) -> str:
    """Name of the device for status.json."""
    if device == "/CPU:0":
        return "cpu"
    gpu = tf.config.get_visible_devices("GPU")[0]
    return tf.config.experimental.get_device_details(gpu).get("device_name", "gpu")


def peak_memory() -> dict[str, int]:
    """Most bytes that tensors have held on this GPU so far; nothing on a CPU."""
    if not tf.config.get_visible_devices("GPU"):
        return {}
    return {"peak_memory": tf.config.experimental.get_memory_info("GPU:0")["peak"]}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers; that of the framework first."""
    return {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
    }
