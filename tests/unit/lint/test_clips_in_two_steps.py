"""Steps of TensorFlow that are defined twice, and clip gradients in one precision only."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

TRAINER = """\
import tensorflow as tf


class Trainer:
    def fit(self, model, rows):
        if self.loss_scaling:

            @tf.function
            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = self.loss_fn(y, model(x))
                    scaled = self.optimizer.get_scaled_loss(loss)
                gradients = tape.gradient(scaled, model.trainable_variables)
                gradients = self.optimizer.get_unscaled_gradients(gradients)
                self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        else:

            @tf.function
            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = self.loss_fn(y, model(x))
                gradients = tape.gradient(loss, model.trainable_variables)
                gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
                self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        for x, y in rows:
            step(x, y)
"""
CLIP = "                gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"
UNSCALED = "                gradients = self.optimizer.get_unscaled_gradients(gradients)\n"


def lines(text: str) -> list[str]:
    """Return the lines at which CL306 is found."""
    found = lint_sources([Source("train.py", text)])
    spans = [d.span for d in found if d.code == "CL306" and d.span]
    return [text.splitlines()[span.line - 1].strip() for span in spans]


def test_a_step_for_each_precision() -> None:
    assert lines(TRAINER) == [CLIP.strip()]
    other = TRAINER.replace(CLIP, "").replace(UNSCALED, UNSCALED + CLIP)
    assert lines(other) == [CLIP.strip()]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (UNSCALED, UNSCALED + CLIP),
        (CLIP, ""),
        ("if self.loss_scaling:", "if self.verbose:"),
        (
            "                self.optimizer.apply_gradients(zip(gradients, "
            "model.trainable_variables))\n\n        else",
            "                self.show(gradients)\n\n        else",
        ),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    assert TRAINER.count(old) == 1
    assert lines(TRAINER.replace(old, new)) == []
