"""Models that are frozen before an own loop differentiates for their weights (CL720)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.keras.keras_frozen_model import RULE


def found(text: str) -> bool:
    return "CL720" in {d.code for d in lint_sources([Source("train.py", text)])}


FREEZE = "        self.discriminator.trainable = False\n"
MADE = "        self.discriminator = discriminator\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "    def train_step",
            "    def thaw(self, model):\n        model.trainable = True\n\n    def train_step",
        ),
        (
            "        with tf.Grad",
            "        set_trainable(self.discriminator, True)\n        with tf.Grad",
        ),
        (FREEZE, f"        if generator.fixed:\n    {FREEZE}"),
        (FREEZE, FREEZE.replace("discriminator", "generator")),
        (FREEZE, f"{FREEZE}{MADE}"),
        ("(loss, self.discriminator.trainable_variables)", "(loss, self.discriminator.variables)"),
        ("(loss, self.discriminator.trainable_variables)", "(loss, self.kept)"),
        ("def __init__", "def freeze"),
    ],
)
def test_models_that_may_be_trained(old: str, new: str) -> None:
    assert found(RULE.wrong)
    assert RULE.wrong.count(old) == 1
    assert not found(RULE.wrong.replace(old, new))


PLAIN = """\
import tensorflow as tf

critic = make_critic()
critic.trainable = False
optimizer = tf.keras.optimizers.Adam(1e-4)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(critic(x) - y))
    gradients = tape.gradient(loss, critic.trainable_variables)
    optimizer.apply_gradients(zip(gradients, critic.trainable_variables))


for x, y in rows:
    step(x, y)
"""


def test_a_model_without_a_class() -> None:
    assert found(PLAIN)
    first = PLAIN.replace("critic.trainable = False\n", "")
    assert not found(first + "critic.trainable = False\n")
    assert not found(PLAIN.replace("critic.trainable = False\n", "critic.base.trainable = False\n"))
