"""Scales the loss of half logits: `scaled_loss.py FRAMEWORK FOLDER...`, each with a train.py.

Prints type and shape of the loss and whether 2**16 times it is finite, by folder. For PyTorch also
whether 2**16 times a half loss of shape (1,) would be, and what the script says of such a loss.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script

LABELS = np.array([2, 0, 1, 2])
LOGITS = 4.0 * np.eye(3)[[0, 1, 2, 0]]
SCALE = 2.0**16


def tensors(framework: str) -> tuple[Any, Any, str]:
    """Return half logits, labels, and the name of the type of a tensor."""
    if framework == "torch":
        import torch

        return torch.tensor(LOGITS).half(), torch.tensor(LABELS), "torch."
    if framework == "jax":
        import jax.numpy as jnp

        return jnp.asarray(LOGITS, jnp.float16), jnp.asarray(LABELS), ""
    import tensorflow as tf

    return tf.constant(LOGITS, tf.float16), tf.constant(LABELS), ""


def told_of_a_shape(script: Any) -> str:
    """Return the error for a loss function whose result has a shape."""
    import torch

    state = prepared(script, torch.device("cpu"))
    batch = {"labels": np.zeros(4, np.int64)}

    def loss_fn(model: Any, batch: Any) -> Any:
        return next(model.parameters()).sum().half().reshape(1)

    try:
        script.train_window(state, [batch], loss_fn)
    except RuntimeError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    HALF, ANSWERS, PREFIX = tensors(sys.argv[1])

    def model(*args: Any, training: bool = True, **inputs: Any) -> Any:
        return HALF

    found: dict[str, Any] = {}
    for name in sys.argv[2:]:
        script = load_script(Path(name) / "train.py")
        loss = script.micro_batch_loss(model, {"x": HALF, "labels": ANSWERS})
        kind = getattr(loss.dtype, "name", str(loss.dtype).removeprefix(PREFIX))
        finite = bool(np.isfinite(float(loss * SCALE)))
        found[name] = {"type": kind, "shape": list(loss.shape), "finite": finite}
    if sys.argv[1] == "torch":
        import torch

        half_loss = HALF.sum().reshape(1)
        found["half"] = bool((half_loss * torch.tensor(SCALE)).isfinite())
        found["told"] = told_of_a_shape(load_script(Path(sys.argv[2]) / "train.py"))
    print(json.dumps(found))
