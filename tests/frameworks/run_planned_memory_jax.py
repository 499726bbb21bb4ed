"""Runs a window of an emitted script several times and prints by how much its process grows:
`run_planned_memory_jax.py SCRIPT OPTIONS`.

Linux tells the highest size of a process, and forgets it when asked to. The window is compiled
before, which takes memory as well, and its first run takes some that is kept. Memory that malloc
kept from a run makes the growth of the next one too small, so the largest counts.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # code is generated faster

import jax

from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.windows import rows_of, window_of

STATIC = 3
"""Arguments of `full_window` for which it is compiled; then its state comes."""
RUNS = 4


def kibibytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def grown_by(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, int]:
    """Call a compiled function; return its results and the bytes by which the process grew."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = kibibytes("VmRSS")
    results = jax.block_until_ready(function(*arguments))
    return results, 1024 * (kibibytes("VmHWM") - before)


if __name__ == "__main__":
    options = json.loads(sys.argv[2])
    script: Any = load_script(Path(sys.argv[1]))
    state = prepared(script, jax.local_devices()[0])
    window = window_of(rows_of(options), options["micro_batch"])
    original = script.full_window
    sizes: list[int] = []
    leaves, keys = jax.tree.leaves(state.arrays), jax.dtypes.prng_key
    held = sum(a.nbytes for a in leaves if not jax.dtypes.issubdtype(a.dtype, keys))

    def full_window(*arguments: Any) -> Any:
        compiled = original.lower(*arguments).compile()
        arrays, *others = arguments[STATIC:]
        for _ in range(RUNS):
            (arrays, told), size = grown_by(compiled, (arrays, *others))
            sizes.append(size)
        return arrays, told

    script.full_window = full_window
    script.train_window(state, window, script.micro_batch_loss)
    print(json.dumps({"held": held, "first": sizes[0], "grown": max(sizes[1:])}))
