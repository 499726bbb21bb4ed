"""Drives emitted step.py files with the toy: `run_steps_tensorflow.py [--keras2] FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it (parameters, moments and averages
after every window) and prints the trace rows and the numbers of compilations as JSON, by folder.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

if "--keras2" in sys.argv:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from tensorflow import keras

# isort: split
from crosscast_parity.inside.emitted import UNSCALED
from crosscast_parity.inside.toy_worker import import_step
from frameworks.toy_training import SHAPES, load_toy

KERAS2 = "--keras2" in sys.argv
SLOTS = ("exp_avg", "exp_avg_sq", "momentum_buffer", "row_var", "col_var", "variance")
ENDINGS = {"_momentum": "exp_avg", "_velocity": "exp_avg_sq"}


class ToyModel(keras.Model):  # type: ignore[misc]  # mypy does not look into Keras
    """Weights of the policy's type, those of normalization layers in float32."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        super().__init__()
        for name, array in start.items():
            dtype = "float32" if name in ("gamma", "beta") else None
            weight = self.add_weight(shape=array.shape, name=name, initializer="zeros", dtype=dtype)
            weight.assign(array)
            setattr(self, name, weight)


def set_policy(step: ModuleType) -> None:
    """Set the policy that the head of the step asks for."""
    found = re.search(r'Call (keras[.a-z_0-9]+)\("(\w+)"\)', step.__doc__ or "")
    assert found
    keras.mixed_precision.set_global_policy(found[2])


def make_loss(dtype: str) -> Any:
    def loss(model: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        total = tf.zeros(())
        for name in SHAPES:
            used = tensor(getattr(model, name))
            if name == "embeddings":
                used = tf.gather(used, batch["ids"])
            if dtype != "float32":
                used = tf.cast(tf.cast(used, dtype), tf.float32)
            total += tf.reduce_sum(used * batch[name])
        return total

    return loss


def tensor(variable: Any) -> Any:
    return variable if KERAS2 else variable.value


def drive(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    dtype, start, windows = load_toy(folder)
    set_policy(step)
    model, loss = ToyModel(start), make_loss(dtype)
    optimizer = step.make_optimizer(model)
    if hasattr(optimizer, "half"):  # float32 copies: they begin as the toy does
        for copy, array in zip(optimizer.variables, start.values(), strict=True):
            copy.assign(array)
        optimizer.publish()
    state = step.TrainState(model, optimizer)
    refused = refusals(step, model, optimizer)
    rows, seen = [], []
    for window in windows:
        rows.append(UNSCALED | step.train_window(state, window, loss))
        rows[-1]["iterations"] = int(state.optimizer.iterations.numpy())
        seen.append(snapshot(state))
    arrays = {key: np.stack([step[key] for step in seen]) for key in seen[0]}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    counts = {n: getattr(step, n).experimental_get_tracing_count() for n in step_functions(step)}
    return {"rows": rows, "compilations": counts, "refused": refused}


def refusals(step: ModuleType, model: Any, optimizer: Any) -> dict[str, str]:
    """Try some policies; return what is said against them."""
    found = {}
    for policy in ("float32", "mixed_float16", "float16"):
        keras.mixed_precision.set_global_policy(policy)
        try:
            step.TrainState(model, optimizer)
        except ValueError as error:
            found[policy] = str(error)
    set_policy(step)
    return found


def step_functions(step: ModuleType) -> list[str]:
    return [n for n, f in vars(step).items() if hasattr(f, "experimental_get_tracing_count")]


def snapshot(state: Any) -> dict[str, np.ndarray]:
    model, optimizer = state.model, state.optimizer
    names = [variable.name.partition(":")[0] for variable in model.trainable_variables]
    assert names == list(SHAPES)
    held = optimizer.variables if hasattr(optimizer, "half") else model.trainable_variables
    slots = {"parameters": held, "ema": getattr(state, "averages", ())}
    slots |= {slot: getattr(optimizer, slot, ()) for slot in SLOTS}
    if isinstance(optimizer, keras.optimizers.Optimizer) and not KERAS2:
        slots |= stock_moments(optimizer)
    return {
        f"{slot}/{name}": variable.numpy()
        for slot, variables in slots.items()
        for name, variable in zip(names, variables, strict=False)
        if variable is not None
    }


def stock_moments(optimizer: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for variable in optimizer.variables:
        for ending, slot in ENDINGS.items():
            if variable.path.endswith(ending):
                sgd = isinstance(optimizer, keras.optimizers.SGD)
                found.setdefault("momentum_buffer" if sgd else slot, []).append(variable)
    return found


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    folders = [argument for argument in sys.argv[1:] if argument != "--keras2"]
    print(json.dumps({folder: drive(Path(folder)) for folder in folders}))
