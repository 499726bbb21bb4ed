"""Sums of gradients of TensorFlow that are applied again (CL111)."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

LOOP = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
windows = 4
for epoch in range(3):
    totals = [tf.zeros_like(v) for v in model.trainable_variables]
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True)) / windows
        gradients = tape.gradient(loss, model.trainable_variables)
        totals = [t + g for t, g in zip(totals, gradients)]
        if (step + 1) % windows == 0:
            optimizer.apply_gradients(zip(totals, model.trainable_variables))
            totals = [tf.zeros_like(v) for v in model.trainable_variables]
"""


ROUNDS = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
for batch in dataset:
    totals = [tf.zeros_like(v) for v in model.trainable_variables]
    for _ in range(windows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(next(rows)))
        gradients = tape.gradient(loss, model.trainable_variables)
        totals = [t + g for t, g in zip(totals, gradients)]
    optimizer.apply_gradients(zip(totals, model.trainable_variables))
"""


def test_a_sum_that_is_applied_again() -> None:
    def again(text: str) -> list[str]:
        found = lint_sources([Source("train.py", text)])
        return [d.code for d in found if d.code == "CL111"]

    inside = ROUNDS.replace("    optimizer.apply", "        optimizer.apply")
    assert again(inside) == ["CL111"]
    assert again(ROUNDS) == []
    assert again(LOOP) == []
    clear = "        totals = [tf.zeros_like(v) for v in model.trainable_variables]\n"
    assert again(inside + clear) == []
    assert again(inside + "        totals.reset()\n") == []
    sometimes = inside.replace(
        "        optimizer.apply", "        if last:\n            optimizer.apply"
    )
    assert again(sometimes) == []
    plain = inside.replace("[t + g for t, g in zip(totals, gradients)]", "gradients")
    assert again(plain) == []
