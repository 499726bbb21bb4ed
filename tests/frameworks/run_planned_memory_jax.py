"""Trains windows of an emitted script and prints by how much its process grows in the last one:
`run_planned_memory_jax.py SCRIPT OPTIONS`.

Linux tells the highest size of a process, and forgets it when asked to.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # code is generated faster

import jax

from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.windows import rows_of, window_of


def sizes() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Vm")}


if __name__ == "__main__":
    options = json.loads(sys.argv[2])
    script = load_script(Path(sys.argv[1]))
    state = prepared(script, jax.local_devices()[0])
    window = window_of(rows_of(options), options["micro_batch"])
    for _ in range(2):
        script.train_window(state, window, script.micro_batch_loss)
    Path("/proc/self/clear_refs").write_text("5")
    before = sizes()["VmRSS"]
    script.train_window(state, window, script.micro_batch_loss)
    grown = 1024 * (sizes()["VmHWM"] - before)
    arrays = jax.tree.leaves(state.arrays)
    keys = jax.dtypes.prng_key
    held = sum(a.nbytes for a in arrays if not jax.dtypes.issubdtype(a.dtype, keys))
    print(json.dumps({"held": held, "grown": grown}))
