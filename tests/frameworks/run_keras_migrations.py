"""Runs programs that were brought to Keras 3, with toy data; prints what they did as JSON.

Arguments: a folder with programs. What a program finds: `inputs`, `targets`, `dataset`.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROWS = 16


def data(*, overflow: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(ROWS, 4)).astype(np.float32)
    targets = inputs[:, :2] * 0.5
    return inputs, np.full_like(targets, np.inf) if overflow else targets


def run(program: Path) -> dict[str, Any]:
    """Run one program, then one step whose gradients overflow."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy("float32")
    inputs, targets = data()
    batches = [(tf.constant(inputs), tf.constant(targets))] * 6
    names: dict[str, Any] = {"inputs": inputs, "targets": targets, "dataset": batches}
    names["__name__"] = "__main__"
    sys.argv = [program.name, "--amp"]
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program.read_text(), program.name, "exec"), names)
    model = names["model"]
    compiled = getattr(model, "optimizer", None)
    optimizer = compiled or names["optimizer"]
    ran = int(optimizer.iterations.numpy())
    before = weights(model)
    scale = float(optimizer.scale_loss(tf.constant(1.0)))
    bad = data(overflow=True)
    if compiled:
        model.fit(*bad, verbose=0)
    else:
        names["train_step"](*map(tf.constant, bad))
    return {
        "policy": keras.mixed_precision.global_policy().name,
        "class": type(optimizer).__name__,
        "half": str(model.layers[0].compute_dtype),
        "ran": ran,
        "finite": bool(np.isfinite(before).all()),
        "scale": scale,
        "scale_afterwards": float(optimizer.scale_loss(tf.constant(1.0))),
        "kept": bool((weights(model) == before).all()),
        "steps_afterwards": int(optimizer.iterations.numpy()) - ran,
    }


def weights(model: Any) -> np.ndarray:
    return np.concatenate([np.ravel(variable.numpy()) for variable in model.trainable_variables])


def main() -> None:
    programs = sorted(Path(sys.argv[1]).glob("*.py"))
    print(json.dumps({program.stem: run(program) for program in programs}))


if __name__ == "__main__":
    main()
