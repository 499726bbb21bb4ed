"""Asks tf_keras, the Keras 2 of newer TensorFlow, what it does; prints the answers as JSON."""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf
from tensorflow import keras

from frozen_models import frozen

INFINITY = float("inf")
Scaler = keras.mixed_precision.LossScaleOptimizer


def scaled(gradients: list[float], **settings: Any) -> dict[str, list[Any]]:
    """Weight, scale and counted updates after each of the (scaled) gradients."""
    weight, optimizer = tf.Variable(0.0), Scaler(keras.optimizers.SGD(1.0), **settings)
    values, scales, counts = [], [], []
    for gradient in gradients:
        unscaled = optimizer.get_unscaled_gradients([tf.constant(gradient)])
        optimizer.apply_gradients([(unscaled[0], weight)])
        values.append(float(weight))
        scales.append(float(optimizer.loss_scale))
        counts.append(int(optimizer.iterations))
    return {"weights": values, "scales": scales, "updates": counts}


def moved(optimizer: Any, gradients: list[float], start: float = 0.0) -> list[float]:
    """The values of one weight after each of the gradients."""
    weight, values = tf.Variable(start), []
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), weight)])
        values.append(float(weight))
    return values


def rate_falls_to_zero() -> list[float]:
    optimizer, weight = keras.optimizers.SGD(1.0, momentum=0.5), tf.Variable(0.0)
    values = []
    for rate in (1.0, 0.0, 0.0):
        optimizer.learning_rate = rate
        optimizer.apply_gradients([(tf.constant(1.0 if rate else 0.0), weight)])
        values.append(float(weight))
    return values


def rewritten() -> dict[str, Any]:
    """What the graph rewrite accepts, and whether it does anything on this machine."""
    rewrite = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite
    old = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    accepted = {}
    for name, optimizer in (("old", old), ("keras", keras.optimizers.SGD(0.1))):
        try:
            rewrite(optimizer, loss_scale=1.0)
            accepted[name] = True
        except ValueError:
            accepted[name] = False

    product = tf.function(lambda x: tf.matmul(x, x))
    odd = tf.fill((4, 4), 1.0 + 2.0**-12)  # not a float16 number
    exact = 4.0 * (1.0 + 2.0**-12) ** 2
    return {
        "accepts": accepted,
        "on": tf.config.optimizer.get_experimental_options().get("auto_mixed_precision"),
        "error": float(tf.reduce_max(tf.abs(product(odd) - exact))),
    }


def statistics() -> list[str]:
    """How a strategy keeps the moving mean of batch normalization."""
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        layer = keras.layers.BatchNormalization()
        layer.build((None, 1))
    return [layer.moving_mean.synchronization.name, layer.moving_mean.aggregation.name]


def normalized() -> dict[str, int]:
    """How many results of a mixed LayerNormalization are not rounded once, by what it gets."""
    mixed, exact = (
        keras.layers.LayerNormalization(epsilon=1e-12, dtype=dtype)
        for dtype in ("mixed_bfloat16", "float32")
    )
    numbers = tf.random.Generator.from_seed(0).normal((8, 512), 3.0, 2.0)

    def wrong(x: tf.Tensor) -> int:
        once = tf.cast(exact(tf.cast(x, tf.float32)), tf.bfloat16)
        return int(tf.math.count_nonzero(mixed(x) != once))

    return {"half": wrong(tf.cast(numbers, tf.bfloat16)), "float32": wrong(numbers)}


def facts() -> dict[str, Any]:
    dropout = keras.layers.Dropout(0.5)
    dropout(tf.ones((2, 2)), training=True)
    adam = keras.optimizers.Adam(1.0, epsilon=1e-3)
    return {
        "dynamic": scaled([1.0, 1.0, INFINITY, 1.0], initial_scale=4.0, dynamic_growth_steps=2),
        "floor": scaled([INFINITY] * 3, initial_scale=2.0),
        "static": scaled([INFINITY], dynamic=False, initial_scale=4.0),
        "adam": moved(adam, [1e-3]),
        "adam decay": moved(keras.optimizers.Adam(0.5, weight_decay=0.1), [0.0], start=1.0),
        "momentum": rate_falls_to_zero(),
        "dropout variables": len(dropout.variables),
        "rewrite": rewritten(),
        "statistics": statistics(),
        "frozen": frozen(keras),
        "normalization": normalized(),
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
