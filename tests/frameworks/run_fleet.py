"""Run an emitted static-graph script with AMP on CPU, and faults of its losses.

There AMP computes in float32, but its scaler is the real one. Arguments: script, faults as JSON
(`WINDOW:MICRO` to the divisor of that micro-batch: 0 makes its gradients inf, nan makes them nan),
flags of the script. Prints as JSON the exit code and, by window, whether any weight, moment or
power of a beta changed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_paddle.inside.on_cpu import allow_cpu
from crosscast_parity.inside.emitted import offered
from crosscast_parity.inside.script import load_script


class Faulty:
    """An executor that divides the losses of some micro-batches by something else."""

    def __init__(self, executor: Any, faults: dict[int, float]) -> None:
        self.executor, self.faults, self.runs = executor, faults, 0
        self.place = executor.place

    def run(self, program: Any, feed: dict[str, Any], fetch_list: list[Any]) -> Any:
        fault = self.faults.get(self.runs)
        self.runs += 1
        if fault is not None:
            feed = feed | {"divisor": np.array(fault, "float32")}
        return self.executor.run(program, feed=feed, fetch_list=fetch_list)


def main() -> None:
    train: Any = load_script(Path(sys.argv[1]))
    faults = json.loads(sys.argv[2])
    allow_cpu(train)
    train_window, changed = train.train_window, []

    scope, held_by = train.paddle.static.global_scope(), offered(train, "variable")

    def held(state: Any) -> dict[str, bytes]:
        variables = (var for var in state.program.list_vars() if var.persistable)
        names = [variable.name for variable in variables if not variable.name.startswith(KEPT)]
        names = [name for name in names if scope.find_var(name)]
        return {name: np.array(held_by(name)).tobytes() for name in names}

    def window(state: Any, micro_batches: Any, loss_fn: Any) -> Any:
        before, executor = held(state), state.executor
        own = {
            int(place.partition(":")[2]): float(value)
            for place, value in faults.items()
            if int(place.partition(":")[0]) == state.windows
        }
        state.executor = Faulty(executor, own)
        row = train_window(state, micro_batches, loss_fn)
        state.executor = executor
        changed.append(held(state) != before)
        return row

    train.train_window = window
    code = train.main(sys.argv[3:])
    print(json.dumps({"code": code, "changed": changed}))


# What an attempt may change although it is skipped: the scaler, counters and what is told.
KEPT = ("loss_scaling", "num_", "learning_rate", "grad_norm", "gradient_merge", "tmp_")

if __name__ == "__main__":
    main()
