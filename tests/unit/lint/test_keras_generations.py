"""Loops that ask an optimizer which generation of Keras it belongs to (CL712)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def codes(text: str) -> list[str]:
    return [str(d.code) for d in lint_sources([Source("train.py", text)]) if d.code == "CL712"]


ASKED = """\
import tensorflow as tf


class Trainer:
    def __init__(self, optimizer):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.optimizer = optimizer

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x) - y))
            if hasattr(self.optimizer, "get_scaled_loss"):
                scaled = self.optimizer.get_scaled_loss(loss)
            elif hasattr(self.optimizer, "scale_loss"):
                scaled = self.optimizer.scale_loss(loss)
            else:
                scaled = loss
        gradients = tape.gradient(scaled, self.model.trainable_variables)
        if hasattr(self.optimizer, "get_unscaled_gradients"):
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        elif hasattr(self.optimizer, "loss_scale"):
            gradients = [g / self.optimizer.loss_scale for g in gradients]
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL712"]),
        ('"loss_scale"', '"unscale_gradients"', ["CL712"]),
        ('"loss_scale"):', '"dynamic_scale"):', []),
        ('elif hasattr(self.optimizer, "loss_scale")', "elif self.half", []),
        ("self.optimizer.scale_loss(loss)", "loss", []),
        ("        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n", "", []),
    ],
)
def test_clips_for_two_generations_of_keras(old: str, new: str, expected: list[str]) -> None:
    assert codes(ASKED.replace(old, new)) == expected
