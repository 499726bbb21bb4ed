"""Layers that become trainable after the training step was compiled (CL724)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.keras.keras_unfrozen_late import RULE


def found(text: str) -> bool:
    return "CL724" in {d.code for d in lint_sources([Source("train.py", text)])}


HEAD, _, LOOP = RULE.wrong.partition("for epoch")
TWICE = f"""{HEAD}

def train(epochs):
    for _ in range(epochs):
        for inputs, targets in dataset:
            train_step(inputs, targets)


train(3)
model.layers[0].trainable = True
train(7)
"""
TRAINER = """\
import tensorflow as tf


class Trainer:
    def __init__(self, model, data):
        self.model = model
        self.data = data
        self.optimizer = tf.keras.optimizers.SGD(1e-3)

    @tf.function
    def step(self, batch, epoch):
        def of_replica(inputs, targets):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.model(inputs) - targets))
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.strategy.run(of_replica, args=batch)

    def epoch(self, number):
        for batch in self.data:
            self.step(batch, epoch=tf.constant(number))

    def fit(self):
        for number in range(10):
            if not self.thawed and number >= self.frozen_epochs:
                for layer in self.model.backbone.layers:
                    layer.trainable = True
            self.epoch(number)
"""


def test_other_places() -> None:
    assert found(RULE.wrong)
    assert found(TWICE)
    layers = "for layer in model.layers[-4:]:\n    layer.trainable = True\n"
    assert found(TWICE.replace("model.layers[0].trainable = True\n", layers))
    assert found(RULE.wrong.replace("epoch == 3", "epoch > 0"))
    assert found(TRAINER)
    assert found(TRAINER.replace("tf.constant(number)", "self.step_number"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("train(3)\n", ""),
        ("train(7)\n", "model.save('trained')\n"),
        ("model.layers[0].trainable = True", "other.trainable = True"),
        ("model.layers[0].trainable = False\n", ""),
        ("@tf.function\n", ""),
        (
            "import tensorflow as tf\n",
            "import tensorflow as tf\ntf.config.run_functions_eagerly(1)\n",
        ),
        ("train_step(inputs, targets)\n\n\ntrain", "train_step(inputs, float(epochs))\n\n\ntrain"),
        ("def train_step(inputs, targets)", "def train_step(inputs, targets, model)"),
    ],
)
def test_steps_that_see_the_layers(old: str, new: str) -> None:
    assert old in TWICE
    assert not found(TWICE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("epoch=tf.constant(number)", "epoch=number"),
        ("self.frozen_epochs", "self.other"),
        ("number >= self.frozen_epochs", "number < self.frozen_epochs"),
        ("number >= self.frozen_epochs", "number == 0"),
        ("self.model.backbone.layers", "self.teacher.layers"),
        ("            self.epoch(number)\n", "            print(number)\n"),
    ],
)
def test_loops_that_are_right_or_unknown(old: str, new: str) -> None:
    assert old in TRAINER
    assert not found(TRAINER.replace(old, new))
