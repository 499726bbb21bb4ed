"""Trains with optimizer classes, in Keras 2 and in Keras 3; prints weights and steps as JSON.

Argument: a program that defines OPTIMIZERS, name to function. Runs in TensorFlow 2.5 as well.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

keras: Any = tf.keras


class Net(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="net")
        self.rows = keras.layers.Embedding(6, 4, name="rows")
        self.norm = keras.layers.LayerNormalization(name="layer_norm")
        self.out = keras.layers.Dense(1, name="out")

    def call(self, x: Any) -> Any:
        return self.out(self.norm(self.rows(x)))


def trained(make: Callable[[], Any], scaled: bool) -> list[list[float]]:
    """Train with repeated rows of an embedding; scaled: with an overflow at the end."""
    model, optimizer = Net(), make()
    model(tf.zeros((2,), tf.int32))
    values = np.random.RandomState(0)
    for variable in model.trainable_variables:
        variable.assign(values.normal(size=variable.shape))
    loop = keras.mixed_precision.LossScaleOptimizer(optimizer) if scaled else optimizer
    scale: Any = getattr(loop, "get_scaled_loss", getattr(loop, "scale_loss", None))

    def step(x: Any, y: Any, factor: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2) * factor
            loss = scale(loss) if scaled else loss
        gradients = tape.gradient(loss, model.trainable_variables)
        if scaled and hasattr(loop, "get_unscaled_gradients"):
            gradients = loop.get_unscaled_gradients(gradients)
        loop.apply_gradients(list(map(tuple, zip(gradients, model.trainable_variables))))  # noqa: B905

    compiled = tf.function(step)
    for number in range(6):
        x = tf.constant(values.randint(0, 6, (8,)), tf.int32)
        y = tf.constant(values.normal(size=(8, 1)), tf.float32)
        compiled(x, y, tf.constant(float("inf") if scaled and number == 5 else 1.0))
    return [variable.numpy().ravel().tolist() for variable in model.trainable_variables]


names: dict[str, Any] = {}
exec(compile(Path(sys.argv[1]).read_text(), sys.argv[1], "exec"), names)
print(
    json.dumps(
        {
            f"{name} {scaled}": trained(make, scaled)
            for name, make in names["OPTIMIZERS"].items()
            for scaled in (False, True)
        }
    )
)
