"""Policies that are set when the model of another file exists already (CL711)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

NETWORKS = """\
import tensorflow as tf


class Network(tf.keras.Model):
    def __init__(self, width):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(width)
        self.head = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.head(self.hidden(x))
"""
TRAIN = """\
import tensorflow as tf

from networks import Network

network = Network(8)
optimizer = tf.keras.optimizers.Adam(1e-3)
tf.keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)


@tf.function
def step(x, y):
    weights = network.trainable_variables
    with tf.GradientTape() as tape:
        loss = optimizer.get_scaled_loss(tf.reduce_mean(tf.square(network(x) - y)))
    gradients = optimizer.get_unscaled_gradients(tape.gradient(loss, weights))
    optimizer.apply_gradients(zip(gradients, weights))


for x, y in rows:
    step(x, y)
"""


def late(train: str, networks: str = "") -> bool:
    sources = [Source("train.py", train)]
    if networks:
        sources.append(Source("networks.py", networks))
    return "CL711" in {d.code for d in lint_sources(sources)}


def test_a_class_that_makes_its_layers_at_once() -> None:
    assert late(TRAIN, NETWORKS)
    assert late(TRAIN)


@pytest.mark.parametrize(
    "networks",
    [
        NETWORKS.replace("def __init__(self, width):", "def build(self, width):"),
        NETWORKS.replace("return self.head(", "return tf.keras.layers.Dense(1)("),
        NETWORKS.replace("tf.keras.layers.Dense(", "Linear("),
    ],
)
def test_layers_that_may_be_made_later(networks: str) -> None:
    assert networks != NETWORKS
    assert not late(TRAIN, networks)


def test_other_weights_behind_a_name() -> None:
    assert not late(TRAIN.replace("network.trainable_variables", "tf.trainable_variables()"))
    assert not late(TRAIN.replace("    weights = network.trainable_variables\n", ""))
