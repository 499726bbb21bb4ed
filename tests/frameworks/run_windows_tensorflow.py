"""Trains windows of an emitted TensorFlow script: `run_windows_tensorflow.py FOLDER WAY`.

The way is `windows`, as the script does it, or `singles`, by micro-batches alone. Prints as JSON
the trace, the calls of compiled functions and the fetches of every window, and writes WAY.npz with
weights, moments and averages. A process goes one way: TensorFlow may round otherwise in the second
graph of a function.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.emitted import batches, offered, prepared, traced
from crosscast_parity.inside.script import load_script

COMPILED = ("full_window", "micro_step", "window_step")
FETCHES = ("numpy", "__array__", "__float__", "__int__", "__bool__", "__index__")
WINDOWS = 6


@contextmanager
def counted(script: Any) -> Iterator[Counter[str]]:
    """Count what Python asks of TensorFlow."""
    counts: Counter[str] = Counter()
    held = {name: getattr(script, name) for name in COMPILED}
    owner = type(tf.zeros(()))
    fetches = {name: getattr(owner, name) for name in FETCHES}

    def wrapped(name: str, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            # Functions called while another one is traced are part of it.
            counts[name] += tf.inside_function() is False
            return original(*args, **kwargs)

        return call

    for name, function in held.items():
        setattr(script, name, tf.autograph.experimental.do_not_convert(wrapped(name, function)))
    for name, method in fetches.items():
        setattr(owner, name, wrapped("fetches", method))
    try:
        yield counts
    finally:
        for name, function in held.items():
            setattr(script, name, function)
        for name, method in fetches.items():
            setattr(owner, name, method)


def train(script: Any, rows: Any, windows: int, counts: Any) -> tuple[list[Any], Any]:
    """Return the trace rows and the state of a short run."""
    state = prepared(script, "/CPU:0")
    trace: list[Any] = []
    for micro_batches in batches(offered(script, "row_numbers"), rows, script.SETTINGS):
        if hasattr(script, "reseed"):
            script.reseed(state)
        row = script.train_window(state, micro_batches, script.micro_batch_loss)
        trace.append(traced(script, row))
        trace[-1]["calls"] = dict(+counts)
        counts.clear()
        if len(trace) == windows:
            return trace, state
    raise AssertionError


def arrays_of(script: Any, state: Any) -> dict[str, Any]:
    """Return weights, moments and averages."""
    kinds = ("model_arrays", "optimizer_arrays", "ema_arrays")
    tells = {kind: offered(script, kind) for kind in kinds}
    told = {kind: tell(state) for kind, tell in tells.items() if tell is not None}
    return {f"{kind}/{name}": told[kind][name] for kind in told for name in told[kind]}


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    folder, way = Path(sys.argv[1]), sys.argv[2]
    script: Any = load_script(folder / "train.py")
    rows = offered(script, "read_rows")(folder.parent / "train.npz", script.SETTINGS)
    if way == "singles":
        vars(script)["ACCUMULATION_STEPS"] = 0  # no window is full
    with counted(script) as counts:
        trace, state = train(script, rows, WINDOWS, counts)
    calls = [row.pop("calls") for row in trace]
    np.savez(folder / f"{way}.npz", **arrays_of(script, state))
    found = {
        "calls": calls,
        "n_micro": [row["n_micro"] for row in trace],
        "skipped": [row["skipped"] for row in trace],
        "rows": json.dumps(trace),  # nan is nan
        "compilations": script.full_window.experimental_get_tracing_count(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
