"""Trains emitted TensorFlow scripts in two workers: `two_workers.py FOLDER...`.

The first folder is of a recipe for one process, the others for two. Prints, by folder, what every
worker found: trace rows, and a sum over the weights. One gradient of the second worker overflows in
window 1. TensorFlow is imported once in every worker.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside.emitted import batches, offered
from crosscast_parity.inside.script import load_script
from gotchas.small_training import WINDOWS, data

SECONDS = 500


def train(folder: Path, strategy: Any, rank: int) -> dict[str, Any]:
    """Train alone without a strategy; with one, worker 1 overflows once."""
    import keras
    import tensorflow as tf

    script: Any = load_script(folder / "train.py")
    keras.utils.set_random_seed(3)
    keras.config.set_dtype_policy(script.DTYPE_POLICY)
    factor = tf.Variable(1.0, trainable=False)

    def loss_fn(model: Any, batch: Any) -> Any:
        return script.micro_batch_loss(model, batch) * factor

    if strategy is None:
        model = script.build_model()
        state = script.TrainState(model, script.make_optimizer(model))
    else:
        with strategy.scope():
            model = script.build_model()
            optimizer = script.make_optimizer(model)
        state = script.TrainState(model, optimizer, strategy)
    finite, model_arrays = offered(script, "finite"), offered(script, "model_arrays")
    alone = strategy is None
    windows = batches(
        offered(script, "row_numbers"), data(), script.SETTINGS, rank=0 if alone else rank
    )
    rows = []
    for window in range(WINDOWS):
        overflows = window == 1 and (rank == 1 or alone)
        factor.assign(float("inf") if overflows else 1.0)
        rows.append(finite(script.train_window(state, next(windows), loss_fn)))
    total = sum(float(np.abs(a).sum()) for a in model_arrays(state).values())
    return {"rows": rows, "weights": total}


def work(folders: list[Path]) -> None:
    """Be one worker, as TF_CONFIG says."""
    import tensorflow as tf

    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    first, *others = folders
    found = {str(first): train(first, None, rank)}
    found |= {str(folder): train(folder, strategy, rank) for folder in others}
    print(json.dumps(found))


def start(folders: list[str]) -> list[dict[str, Any]]:
    """Start both workers; return what they print."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{socket.getsockname()[1]}" for socket in held]
    for listener in held:
        listener.close()
    workers = []
    for rank in range(2):
        task = {"type": "worker", "index": rank}
        config = json.dumps({"cluster": {"worker": addresses}, "task": task})
        command = [sys.executable, __file__, *folders]
        environment = os.environ | {"TF_CONFIG": config}
        workers.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE))
    try:
        printed = [worker.communicate(timeout=SECONDS)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0]
    return [json.loads(text) for text in printed]


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        work([Path(folder) for folder in sys.argv[1:]])
    else:
        print(json.dumps(start(sys.argv[1:])))
