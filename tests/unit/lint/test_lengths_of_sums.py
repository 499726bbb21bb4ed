"""Schedules whose length counts batches, where sums of gradients are applied (CL503)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(text: str) -> bool:
    return "CL503" in {d.code for d in lint_sources([Source("train.py", text)])}


TRAIN = """\
import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices(rows).batch(config.batch_size)
updates = config.rows // config.batch_size * config.epochs
rate = tf.keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=updates - 100)
optimizer = tf.keras.optimizers.Adam(rate)
totals = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
count = tf.Variable(0, trainable=False)


def update():
    means = [total / config.windows for total in totals]
    optimizer.apply_gradients(zip(means, model.trainable_variables))
    for total in totals:
        total.assign(tf.zeros_like(total))
    count.assign(0)


@tf.function
def micro_batch(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    for total, gradient in zip(totals, gradients):
        total.assign_add(gradient)
    count.assign_add(1)
    tf.cond(count == config.windows, update, lambda: None)


for epoch in range(config.epochs):
    for inputs, targets in dataset:
        micro_batch(inputs, targets)
"""


def test_lengths_in_batches() -> None:
    assert found(TRAIN)
    assert found(
        TRAIN.replace(".batch(config.batch_size)", "").replace(
            "(rows)", "(rows, batch_size=config.batch_size)"
        )
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("config.epochs\nrate", "config.epochs // config.windows\nrate"),
        ("config.epochs\nrate", "config.epochs // config.accumulation_steps\nrate"),
        ("config.rows // config.batch_size * config.epochs", "config.updates"),
        ("config.batch_size * config.epochs", "config.batch_size"),
        ("config.batch_size * config.epochs", "config.global_batch * config.epochs"),
        ("tf.cond(count == config.windows, update, lambda: None)", "update()"),
        ("count.assign_add(1)", "count.assign_add(0)"),
    ],
)
def test_lengths_that_are_right_or_unknown(old: str, new: str) -> None:
    assert old in TRAIN
    assert not found(TRAIN.replace(old, new))
