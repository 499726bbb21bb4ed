"""First micro-batches that form a window of their own, by a condition with a name (CL104)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(text: str) -> bool:
    results = lint_sources([Source("train.py", text)])
    return any(d.code == "CL104" and "its own window" in d.message for d in results)


STEP = """\
import tensorflow as tf


@tf.function
def micro_batch(inputs, targets, last):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    accumulator(gradients)
    if last:
        means = [g / windows for g in accumulator.gradients]
        optimizer.apply_gradients(zip(means, model.trainable_variables))
        accumulator.reset()


seen = 0
while seen < 1000:
    inputs, targets = next(batches)
    last = seen == 0 or (seen + 1) % windows == 0
    micro_batch(inputs, targets, last)
    seen += 1
"""


def test_a_condition_that_is_an_argument() -> None:
    assert found(STEP)
    named = STEP.replace("targets, last)\n    seen", "targets, last=last)\n    seen")
    assert named != STEP
    assert found(named)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seen == 0 or ", ""),
        ("seen == 0 or ", "seen == 999 or "),
        ("seen == 0 or ", "stop == 0 or "),
        ("seen = 0\n", "seen = 1\n"),
        ("seen == 0 or (seen + 1) % windows == 0", "seen == 0 or flush"),
    ],
)
def test_conditions_that_are_right_or_unknown(old: str, new: str) -> None:
    assert old in STEP
    assert not found(STEP.replace(old, new))
