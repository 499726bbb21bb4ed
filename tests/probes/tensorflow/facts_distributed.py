"""Asks Keras what it does on two replicas; prints the answers as JSON."""

from __future__ import annotations

import json
from typing import Any

import keras
import tensorflow as tf

INFINITY = float("inf")


def read(variable: keras.Variable) -> float:
    """The value on the first replica."""
    return float(variable.value.values[0].numpy())


def after_a_step(gradients: tuple[float, float]) -> dict[str, float]:
    """Weight and loss scale after one step with these (scaled) gradients on the replicas."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        weight = keras.Variable(0.0)
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), 4.0)
        optimizer.build([weight])
    values = tf.constant(gradients)

    def step() -> None:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        optimizer.apply([values[replica]], [weight])

    strategy.run(tf.function(step))
    return {"weight": read(weight), "scale": read(optimizer.dynamic_scale)}


def statistics() -> list[float]:
    """Moving mean of batch normalization, by replica, after batches of 0 and of 4."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        layer = keras.layers.BatchNormalization(momentum=0.0)
        layer.build((None, 1))

    def step() -> None:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        layer(tf.fill((2, 1), 4.0 * tf.cast(replica, tf.float32)), training=True)

    strategy.run(tf.function(step))
    return [float(one.numpy()[0]) for one in layer.moving_mean.value.values]


def updates_outside() -> list[float]:
    """A weight on both replicas after an update by no replica in particular."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        weight = keras.Variable(5.0)
    tf.function(lambda: weight.assign_sub(3.0))()
    return [float(one.numpy()) for one in weight.value.values]


if __name__ == "__main__":
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    cases = {
        "finite": (4.0, 8.0),
        "first overflows": (INFINITY, 4.0),
        "second overflows": (4.0, INFINITY),
    }
    found: dict[str, Any] = {name: after_a_step(gradients) for name, gradients in cases.items()}
    found |= {"statistics": statistics(), "outside": updates_outside()}
    print(json.dumps(found))
