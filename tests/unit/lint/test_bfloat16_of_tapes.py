"""Losses of Keras that are scaled although the step runs in bfloat16."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

STEP = '''\
def make_step(model, loss_of, optimizer):
    """A step for mixed_float16 too."""
    import tensorflow as tf

    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)

    @tf.function
    def step(images, labels):
        images = tf.cast(images, tf.bfloat16)
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images))
            scaled = optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step
'''


def lines(text: str) -> list[str]:
    found = lint_sources([Source("train.py", text)])
    return [
        text.splitlines()[d.span.line - 1].strip() for d in found if d.code == "CL207" if d.span
    ]


def test_inputs_in_bfloat16() -> None:
    assert lines(STEP) == ["scaled = optimizer.get_scaled_loss(loss)"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.cast(images, tf.bfloat16)", "tf.cast(images, tf.float16)"),
        ("tf.cast(images, tf.bfloat16)", "tf.cast(images, tf.float32)"),
        ("tf.cast(images, tf.bfloat16)", "tf.cast(images, tf.bfloat16 if new else tf.float16)"),
        ("tf.cast(images, tf.bfloat16)", "tf.cast(tf.cast(images, tf.bfloat16), tf.float32)"),
        ("        images = tf.cast", "        shown = tf.cast"),
        ("model(images)", "model(tf.cast(images, tf.float32))"),
        ("optimizer.get_scaled_loss(loss)", "loss"),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    assert STEP.count(old) == 1
    assert lines(STEP.replace(old, new)) == []
