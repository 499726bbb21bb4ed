"""Runs loops of programs, before or after their migration; prints weights and scales as JSON.

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


def run(program: Path) -> dict[str, Any]:
    """Run the loop of one program from fixed weights; one step of it overflows."""
    names: dict[str, Any] = {}
    exec(compile(program.read_text(), program.name, "exec"), names)
    model, optimizer = names["model"], names["opt"]
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(8, 3)).astype(np.float32)
    targets = 40 * rng.normal(size=(8, 2)).astype(np.float32)
    model(inputs)
    for variable in model.trainable_variables:
        start = np.linspace(-1, 1, int(np.prod(variable.shape)), dtype=np.float32)
        variable.assign(start.reshape(variable.shape))
    rows = []
    for step in range(STEPS):
        bad = step == BAD and "fixed" not in program.stem  # its overflows are not checked
        names["step"](tf.constant(inputs), tf.constant(targets * (np.inf if bad else 1)))
        rows.append([np.ravel(variable.numpy()).tolist() for variable in model.trainable_variables])
    old = hasattr(optimizer, "get_scaled_loss")
    scale = optimizer.get_scaled_loss if old else optimizer.scale_loss
    return {"old": old, "weights": rows, "scale": float(scale(tf.constant(1.0)))}


def main() -> None:
    programs = sorted(Path(sys.argv[1]).glob("*.py"))
    print(json.dumps({program.stem: run(program) for program in programs}))


if __name__ == "__main__":
    main()
