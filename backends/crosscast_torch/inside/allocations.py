"""Windows of an emitted PyTorch script under a watch on the allocator.

`python -m crosscast_torch.inside.allocations SCRIPT JSON`, in a process of its own. On a CPU
the profiler reports every allocation of PyTorch's CPU allocator with the running total; it must
have seen all of them, so the model is built under it. On a GPU the allocator counts by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from crosscast_parity.inside.answer import answer
from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.user_code import search_in
from crosscast_parity.inside.windows import rows_of, window_of


def train(script: Any, options: dict[str, Any], device: torch.device) -> None:
    """Make the state and train some windows."""
    state = prepared(script, device)
    window = window_of(rows_of(options), options["micro_batch"])
    for _ in range(options["windows"]):
        script.train_window(state, window, script.micro_batch_loss)


def events_of(nodes: Any, path: tuple[str, ...] = ()) -> Any:
    """Yield (time, running total, bytes, names of the operations around) of every allocation."""
    for node in nodes:
        extra = node.extra_fields
        if hasattr(extra, "alloc_size"):
            yield node.start_time_ns, extra.total_allocated, extra.alloc_size, path
        yield from events_of(node.children, (*path, node.name))


def measure_on_cpu(script: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the highest running total, and what ran there."""
    with torch.autograd.profiler.profile(profile_memory=True, use_kineto=True) as profile:
        train(script, options, torch.device("cpu"))
    assert profile.kineto_results is not None
    events = sorted(events_of(profile.kineto_results.experimental_event_tree()))
    highest = max(events, key=lambda event: event[1])
    result = {"peak": highest[1], "where": list(highest[3])}
    if options.get("timeline"):
        result["timeline"] = [(total, size, " > ".join(path)) for _, total, size, path in events]
    return result


def measure_on_gpu(script: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the peak that the GPU's allocator counted, in bytes."""
    torch.cuda.reset_peak_memory_stats()
    train(script, options, torch.device("cuda"))
    peak = torch.cuda.max_memory_allocated()
    return {"peak": peak, "reserved": torch.cuda.max_memory_reserved(), "where": []}


def find(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return the measured peak of the script."""
    search_in(options["folder"])
    script = load_script(path)
    torch.set_num_threads(1)
    measure = measure_on_gpu if options["device"] == "cuda" else measure_on_cpu
    return measure(script, options) | {"version": torch.__version__}


if __name__ == "__main__":
    answer(find)
