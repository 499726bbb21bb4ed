"""Trains with two replicas on the CPU, one of which overflows once; prints weights and scales.

Arguments: a folder of programs; the package that they call Keras, `tf_keras` (Keras 2) or `keras`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

if sys.argv[2] == "tf_keras":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

STEPS = 5
BAD = 2
ROWS = 8


def local(variable: Any) -> list[Any]:
    """The values of a variable on all replicas."""
    held = getattr(variable, "value", variable)
    held = held if hasattr(held, "values") else variable
    return [np.ravel(np.asarray(each)).tolist() for each in held.values]


def run(program: Path) -> dict[str, Any]:
    """Run one program; the last half of the rows, those of replica 1, overflow in one step."""
    names: dict[str, Any] = {}
    exec(compile(program.read_text(), program.name, "exec"), names)
    model, strategy = names["model"], names["strategy"]
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(ROWS, 3)).astype(np.float32)
    targets = 4 * rng.normal(size=(ROWS, 2)).astype(np.float32)
    for variable in model.trainable_variables:
        start = np.linspace(-1, 1, int(np.prod(variable.shape)), dtype=np.float32)
        variable.assign(start.reshape(variable.shape))
    rows = []
    for step in range(STEPS):
        given = targets.copy()
        if step == BAD:
            given[ROWS // 2 :] = np.inf
        if "train" in names:
            data = tf.data.Dataset.from_tensor_slices((inputs, given)).batch(ROWS)
            for x, y in strategy.experimental_distribute_dataset(data):
                names["train"](x, y)
        else:
            model.fit(inputs, given, batch_size=ROWS, shuffle=False, verbose=0)
        rows.append([local(variable) for variable in model.trainable_variables])
    optimizer = names.get("opt") or model.optimizer
    old = hasattr(optimizer, "get_scaled_loss")
    scale = optimizer.loss_scale if old else optimizer.dynamic_scale
    return {"old": old, "weights": rows, "scale": np.ravel(local(scale) if not old else scale)[0]}


def main() -> None:
    device = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
    programs = sorted(Path(sys.argv[1]).glob("*.py"))
    print(json.dumps({program.stem: run(program) for program in programs}, default=float))


if __name__ == "__main__":
    main()
