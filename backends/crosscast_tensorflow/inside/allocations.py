"""Windows of an emitted TensorFlow script under a watch on the allocator.

`python -m crosscast_tensorflow.inside.allocations SCRIPT JSON`, in a process of its own. On
a CPU the profiler writes down every piece that TensorFlow's allocator gives out or gets back, with
the bytes that were asked for; it must have seen all of them, so the model is built under it. On a
GPU the allocator counts by itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# One allocator for all sizes: the usual one tells the profiler of large pieces only.
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from crosscast_parity.inside.answer import answer
from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.user_code import search_in
from crosscast_parity.inside.windows import known_sizes, rows_of, window_of


def train(script: Any, options: dict[str, Any], device: str) -> Any:
    """Make the state and train some windows; return the state."""
    state = prepared(script, device)
    window = window_of(rows_of(options), options["micro_batch"])
    for _ in range(options["windows"]):
        script.train_window(state, window, script.micro_batch_loss)
    return state


def events_of(folder: Path) -> Iterator[tuple[int, int, int, str]]:
    """Yield (time in ps, bytes asked for or given back, address, operation) of every piece."""
    for path in folder.rglob("*.xplane.pb"):
        space = xplane_pb2.XSpace.FromString(path.read_bytes())
        for plane in space.planes:
            names = {key: metadata.name for key, metadata in plane.event_metadata.items()}
            stats = {key: metadata.name for key, metadata in plane.stat_metadata.items()}
            for line in plane.lines:
                for event in line.events:
                    sign = {"MemoryAllocation": 1, "MemoryDeallocation": -1}.get(
                        names[event.metadata_id], 0
                    )
                    if sign:
                        values = {stats[stat.metadata_id]: stat for stat in event.stats}
                        time = line.timestamp_ns * 1000 + event.offset_ps
                        size = sign * values["requested_bytes"].int64_value
                        where = values.get("tf_op")
                        name = stats.get(where.ref_value, where.str_value) if where else ""
                        yield (
                            time,
                            size,
                            values["addr"].int64_value or values["addr"].uint64_value,
                            name,
                        )


def measure_on_cpu(script: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the highest running total, and what ran there."""
    with tempfile.TemporaryDirectory() as name:
        with tf.profiler.experimental.Profile(name):
            state = train(script, options, "/CPU:0")
        events = sorted(events_of(Path(name)))
    total, highest, where, timeline = 0, 0, "", []
    for _, size, address, operation in events:
        total += size
        timeline.append((total, size, operation, address))
        if total > highest:
            highest, where = total, operation
    counted = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    weights, trained = state.model.variables, state.model.trainable_variables
    result = {
        "peak": highest,
        "reserved": counted,
        "where": [where],
        "sizes": known_sizes(script, state, weights, trained),
        "holds_window": True,  # the script stacks its micro-batches
    }
    return result | ({"timeline": timeline} if options.get("timeline") else {})


def measure_on_gpu(script: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the peak that the GPU's allocator counted, in bytes."""
    tf.config.experimental.reset_memory_stats("GPU:0")
    train(script, options, "/GPU:0")
    return {"peak": tf.config.experimental.get_memory_info("GPU:0")["peak"], "where": []}


def find(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return the measured peak of the script."""
    tf.config.threading.set_intra_op_parallelism_threads(1)  # before the user's code runs
    tf.config.threading.set_inter_op_parallelism_threads(1)
    search_in(options["folder"])
    script = load_script(path)
    measure = measure_on_gpu if options["device"] == "cuda" else measure_on_cpu
    return measure(script, options) | {"version": tf.__version__}


if __name__ == "__main__":
    answer(find)
