"""Run windows of an emitted Paddle script and report the peak of Paddle's memory counter.

`python -m crosscast_paddle.inside.allocations SCRIPT JSON`, in a process of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paddle

from crosscast_paddle.inside.on_cpu import enable_scaler
from crosscast_parity.inside.answer import answer
from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.user_code import search_in
from crosscast_parity.inside.windows import known_sizes, rows_of, window_of


def find(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return the measured peak of the script."""
    search_in(options["folder"])
    script, on_gpu = load_script(path), options["device"] == "cuda"
    widened = bool(script.SETTINGS.half) and not on_gpu  # auto_cast only warns there
    if widened:
        enable_scaler()
    flags = _without_half(script) if widened else []
    state = prepared(script, paddle.device.get_device(), flags)
    window = window_of(rows_of(options), options["micro_batch"])
    for _ in range(options["windows"]):
        script.train_window(state, window, script.micro_batch_loss)
    if on_gpu:
        peak = paddle.device.cuda.max_memory_allocated()
    else:
        peak = paddle.base.core.host_memory_stat_peak_value("Allocated", 0)
    trained = [weight for weight in state.model.parameters() if not weight.stop_gradient]
    weights = [*state.model.parameters(), *state.model.buffers()]
    return {
        "peak": peak,
        "where": [],
        "version": paddle.__version__,
        "sizes": known_sizes(script, state, weights, trained),
        "widened": widened,
    }


def _without_half(script: Any) -> list[str]:
    """Return the flag that leaves out half tensors of the script's own: a CPU has no kernels."""
    flag = "use_bf16" if script.SETTINGS.half == "bfloat16" else "use_fp16"
    casts = hasattr(script, "half_copy") or hasattr(script, "compute_in_float32")
    return [f"--{flag}=false"] if casts else []


if __name__ == "__main__":
    answer(find)
