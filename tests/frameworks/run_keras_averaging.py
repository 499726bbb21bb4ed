"""Trains with the optimizer that averages gradients, beside a process that is made up."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_tensorflow.migration.experimental.keras.added_code import AVERAGED, TEXTS

INPUTS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
TARGETS = INPUTS[:, :1] * 3


def model_of(average: Any, policy: str) -> Any:
    names: dict[str, Any] = {"tf": tf}
    exec(TEXTS[AVERAGED], names)
    tf.keras.mixed_precision.set_global_policy(policy)
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential(
        [tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1, dtype="float32")]
    )
    optimizer = tf.keras.optimizers.SGD(0.1)
    model.compile(names[AVERAGED](optimizer, average), loss="mse")
    return model


def trained(average: Any, policy: str) -> Any:
    model = model_of(average, policy)
    start = model.get_weights()[0]
    model.fit(INPUTS, TARGETS, batch_size=8, verbose=0)
    scale = float(model.optimizer.scale_loss(tf.constant(1.0)))
    return [(model.get_weights()[0] - start).ravel().tolist(), scale]


if __name__ == "__main__":
    print(
        json.dumps(
            {
                f"{policy} {name}": trained(average, policy)
                for policy in ("float32", "mixed_float16")
                for name, average in {
                    "alone": lambda g: g,
                    "halved": lambda g: g / 2,
                    "overflow": lambda g: g * np.inf,
                }.items()
            }
        )
    )
