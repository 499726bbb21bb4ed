"""Asks Keras what it does on two replicas; prints the answers as JSON."""

from __future__ import annotations

import inspect
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
    return [float(value.numpy()[0]) for value in layer.moving_mean.value.values]


def updates_outside() -> list[float]:
    """A weight on both replicas after an update by no replica in particular."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        weight = keras.Variable(5.0)
    tf.function(lambda: weight.assign_sub(3.0))()
    return [float(value.numpy()) for value in weight.value.values]


def devices() -> dict[str, bool]:
    """Whether a sum of gradients stands on a device, read in a replica in several ways."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    total = tf.Variable(0.0, trainable=False)
    found: dict[str, bool] = {}

    def read() -> None:
        ways = {"value": total.value(), "identity": tf.identity(total)}
        found.update({name: bool(tensor.device) for name, tensor in ways.items()})

    strategy.run(tf.function(read))
    return found


def arguments(function: Any) -> list[str]:
    """Names of what a function of TensorFlow can be told."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


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
    found |= {
        "devices": devices(),
        "strategy": arguments(tf.distribute.MultiWorkerMirroredStrategy),
    }
    print(json.dumps(found))
