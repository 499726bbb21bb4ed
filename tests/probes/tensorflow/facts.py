"""Asks the installed TensorFlow and Keras what they do; prints the answers as JSON."""

from __future__ import annotations

import inspect
import json
from typing import Any

import keras
import tensorflow as tf


def moved(optimizer: Any, gradients: list[float], start: float = 0.0) -> list[float]:
    """The values of one weight after each of the gradients."""
    weight = keras.Variable(start)
    values = []
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)], [weight])
        values.append(float(weight.numpy()))
    return values


def scales(initial: float, gradients: list[float]) -> list[float]:
    """The loss scales of Keras' own optimizer after each of the gradients."""
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=initial, dynamic_growth_steps=1
    )
    optimizer.build([keras.Variable(0.0)])
    found = []
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)])
        found.append(float(optimizer.dynamic_scale.numpy()))
    return found


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def names(layer: keras.layers.Layer) -> list[str]:
    layer.build((None, 4, 4))
    return [variable.name for variable in layer.trainable_variables]


def rate_falls_to_zero() -> list[float]:
    optimizer, weight = keras.optimizers.SGD(1.0, momentum=0.5), keras.Variable(0.0)
    values = []
    for rate in (1.0, 0.0, 0.0):
        optimizer.learning_rate = rate
        optimizer.apply([tf.constant(1.0 if rate else 0.0)], [weight])
        values.append(float(weight.numpy()))
    return values


def accumulated() -> dict[str, Any]:
    """Three micro-batches a step, one of which overflows."""
    inner = keras.optimizers.SGD(1.0, gradient_accumulation_steps=3)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=1.0)
    values = moved(optimizer, [1.0, float("inf"), 3.0, 4.0])
    return {"weights": values, "scale": float(optimizer.dynamic_scale.numpy())}


def facts() -> dict[str, Any]:
    sgd, adam = keras.optimizers.SGD, keras.optimizers.Adam
    infinity = float("inf")
    huge = [tf.constant([3e30, 4e30])]
    layers = keras.layers
    return {
        "scales grow": scales(2.0**126, [1.0] * 4),
        "scales fall": scales(2.0**-125, [infinity] * 3),
        "scales back off": scales(1024.0, [infinity, 1.0, infinity]),
        "scaler arguments": parameters(keras.optimizers.LossScaleOptimizer.__init__),
        "static": moved(sgd(1.0, loss_scale_factor=1024.0), [infinity]),
        "accumulated": accumulated(),
        "clipped": moved(sgd(1.0, global_clipnorm=1e-5), [1e-5]),
        "clipped huge": tf.clip_by_global_norm(huge, 1.0)[0][0].numpy().tolist(),
        "clip arguments": parameters(tf.clip_by_global_norm),
        "adam": moved(adam(1.0, epsilon=1e-3), [1e-3]),
        "adam decay": moved(adam(0.5, weight_decay=0.1), [0.0], start=1.0),
        "sgd decay": moved(sgd(0.5, momentum=0.5, weight_decay=0.1), [0.0, 0.0], start=1.0),
        "momentum": rate_falls_to_zero(),
        "names": {
            "dense": names(layers.Dense(4)),
            "embedding": names(layers.Embedding(4, 4)),
            "layer": names(layers.LayerNormalization()),
            "batch": names(layers.BatchNormalization()),
            "group": names(layers.GroupNormalization(2)),
        },
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
