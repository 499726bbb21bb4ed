"""Sums of gradients of TensorFlow that wait for a counter which stands still (CL110)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def codes(text: str) -> set[str]:
    found = lint_sources([Source("train.py", text)])
    return {str(d.code) for d in found if d.code in ("CL101", "CL104", "CL110")}


MODEL = """\
import tensorflow as tf


class AccumulatingModel(tf.keras.Model):
    def __init__(self, windows, **kwargs):
        super().__init__(**kwargs)
        self.windows = tf.constant(windows, dtype=tf.int32)
        self.seen = tf.Variable(tf.constant(0, dtype=tf.int32), trainable=False)
        self.totals = [
            tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables
        ]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        for total, gradient in zip(self.totals, gradients):
            total.assign_add(gradient)
        tf.cond(tf.equal(self.seen, self.windows), self.update, lambda: None)
        return {m.name: m.result() for m in self.metrics}

    def update(self):
        self.optimizer.apply_gradients(zip(self.totals, self.trainable_variables))
        self.seen.assign(0)
        for total in self.totals:
            total.assign(tf.zeros_like(total))
"""
STEP = "        x, y = data\n"


def test_a_counter_that_stands_still() -> None:
    assert codes(MODEL) == {"CL101", "CL110"}
    assert codes(MODEL.replace("self.seen.assign(0)", "self.seen.assign_add(0)")) >= {"CL110"}
    assert codes(MODEL.replace(STEP, f"{STEP}        tf.print(self.seen)\n")) >= {"CL110"}


@pytest.mark.parametrize(
    "line",
    [
        "self.seen.assign_add(1)",
        "self.seen.assign(self.seen + 1)",
        "self.seen = self.seen + 1",
        "advance(self.seen)",
        "getattr(self, 'seen').assign_add(1)",
        "counters = [self.seen]",
    ],
)
def test_counters_that_may_advance(line: str) -> None:
    assert "CL110" not in codes(MODEL.replace(STEP, f"{STEP}        {line}\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.constant(0, dtype=tf.int32)", "windows"),
        ("tf.Variable(tf.constant(0, dtype=tf.int32)", "counters.pop(0"),
        ("        self.seen = ", "        self.first = "),
    ],
)
def test_counters_that_begin_elsewhere(old: str, new: str) -> None:
    assert old in MODEL
    assert "CL110" not in codes(MODEL.replace(old, new))
