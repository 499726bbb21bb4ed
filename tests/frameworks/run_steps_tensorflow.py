"""Drives emitted step.py files with the toy: `run_steps_tensorflow.py FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it (parameters and moments after every
window) and prints the trace rows and the numbers of compilations as JSON, by folder.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

# isort: split
from frameworks.toy_training import SHAPES, load_toy

SLOTS = ("exp_avg", "exp_avg_sq", "momentum_buffer")


class ToyModel(keras.Model):  # type: ignore[misc]  # mypy does not look into Keras
    def __init__(self, start: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name, array in start.items():
            weight = self.add_weight(shape=array.shape, name=name, initializer="zeros")
            weight.assign(array)
            setattr(self, name, weight)


def make_loss(dtype: str) -> Any:
    def loss(model: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        total = tf.zeros(())
        for name in SHAPES:
            used = getattr(model, name).value
            if name == "embeddings":
                used = tf.gather(used, batch["ids"])
            if dtype != "float32":
                used = tf.cast(tf.cast(used, dtype), tf.float32)
            total += tf.reduce_sum(used * batch[name])
        return total

    return loss


def import_step(folder: Path) -> ModuleType:
    name = f"step_{folder.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, folder / "step.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drive(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    dtype, start, windows = load_toy(folder)
    model, loss = ToyModel(start), make_loss(dtype)
    state = step.TrainState(model, step.make_optimizer(model))
    rows, seen = [], []
    for window in windows:
        rows.append(step.train_window(state, window, loss))
        rows[-1]["iterations"] = int(state.optimizer.iterations.numpy())
        seen.append(snapshot(model, state.optimizer))
    arrays = {key: np.stack([one[key] for one in seen]) for key in seen[0]}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    counts = {n: getattr(step, n).experimental_get_tracing_count() for n in step_functions(step)}
    return {"rows": rows, "compilations": counts}


def step_functions(step: ModuleType) -> list[str]:
    return [n for n, f in vars(step).items() if hasattr(f, "experimental_get_tracing_count")]


def snapshot(model: Any, optimizer: Any) -> dict[str, np.ndarray]:
    arrays = {f"parameters/{name}": getattr(model, name).numpy() for name in SHAPES}
    for slot in SLOTS:
        for weight, moment in zip(
            model.trainable_variables, getattr(optimizer, slot, ()), strict=False
        ):
            arrays[f"{slot}/{weight.name}"] = moment.numpy()
    return arrays


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print(json.dumps({folder: drive(Path(folder)) for folder in sys.argv[1:]}))
