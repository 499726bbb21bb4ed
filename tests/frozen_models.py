"""What a model that is frozen trains, asked of any Keras."""

from __future__ import annotations

from typing import Any

import numpy as np


def frozen(keras: Any) -> dict[str, Any]:
    """Return how many weights a frozen model has to train, and whether train_on_batch moves them.

    Args:
        keras: the package.
    """
    rows, targets = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    found: dict[str, Any] = {}
    for when in ("after compile", "after a batch"):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.build((None, 2))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        if when == "after a batch":
            model.train_on_batch(rows, targets)
        model.trainable = False
        before = model.get_weights()[0].copy()
        model.train_on_batch(rows, targets)
        found[when] = not np.allclose(before, model.get_weights()[0])
        found["weights"] = len(model.trainable_variables)
    return found
