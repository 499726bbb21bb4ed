"""Runs an emitted train.py as if it were on a GPU that counts bytes: `run_peak_memory.py NAME
SCRIPT ARGUMENTS`.

Only the framework's own counter, and what says that there is a GPU, are replaced. Prints the exit
code, the rows of the trace, and what the framework's real counter says of the CPU.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any


def torch_counter(count: Any) -> Any:
    import torch

    real = torch.cuda.max_memory_allocated
    torch.cuda.is_initialized = lambda: True
    torch.cuda.max_memory_allocated = lambda: next(count)
    return real


def paddle_counter(count: Any) -> Any:
    import paddle

    assert callable(paddle.device.cuda.max_memory_allocated)  # it refuses to count without a GPU
    paddle.device.get_device = lambda: "gpu:0"
    paddle.device.cuda.max_memory_allocated = lambda: next(count)
    return lambda: 0


def tensorflow_counter(count: Any) -> Any:
    # The only CPU allocator that counts whatever the processor is; read when it is made.
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    import tensorflow as tf

    visible, real = tf.config.get_visible_devices, tf.config.experimental.get_memory_info
    tf.config.get_visible_devices = lambda kind=None: ["it"] if kind == "GPU" else visible(kind)
    tf.config.experimental.get_memory_info = lambda name: {"GPU:0": {"peak": next(count)}}[name]
    return lambda: real("CPU:0")["peak"]


COUNTERS = {"torch": torch_counter, "paddle": paddle_counter, "tensorflow": tensorflow_counter}

if __name__ == "__main__":
    framework, script, arguments = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    sys.path.insert(0, str(script.parent))
    import train  # type: ignore[import-not-found]

    real = COUNTERS[framework](itertools.count(10**9))
    code = train.main(arguments)
    output = Path(arguments[arguments.index("--output") + 1])
    rows = [json.loads(line) for line in (output / "trace.jsonl").read_text().splitlines()]
    print(json.dumps({"code": code, "rows": rows, "cpu": real()}))
