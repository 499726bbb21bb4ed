"""Clips before an optimizer that a class or function of another file makes accumulate."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(text: str) -> list[str]:
    """Return the lines of clips that are said to see one micro-batch only."""
    results = lint_sources([Source("train.py", text)])
    spans = [d.span for d in results if d.code == "CL303" and d.span]
    return [text.splitlines()[span.line - 1].strip() for span in spans]


GRAPH = """\
import tensorflow.compat.v1 as tf

import wrappers


def make_train_op(loss, rate, windows, step):
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    if windows > 1:
        optimizer = wrappers.GradientAggregationOptimizer(optimizer, windows, sharded=False)
    variables = tf.trainable_variables()
    gradients = tf.gradients(loss, variables)
    if FLAGS.clip:
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    return optimizer.apply_gradients(zip(gradients, variables), global_step=step)
"""
CLIP = "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)"


def test_a_clip_before_a_wrapper() -> None:
    assert found(GRAPH) == [CLIP]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GradientAggregationOptimizer", "GradientCheckingOptimizer"),
        ("optimizer, windows, sharded=False", "optimizer, 1, sharded=False"),
        ("if FLAGS.clip:", "if windows == 1:"),
        ("gradients, _ = tf.clip", "shown, _ = tf.clip"),
        ("        optimizer = wrappers", "        other = wrappers"),
    ],
)
def test_look_alikes_of_a_wrapper(old: str, new: str) -> None:
    assert GRAPH.count(old) == 1
    assert found(GRAPH.replace(old, new)) == []


CLASSES = """\
import tensorflow as tf

from .sums import get_grad_accumulation_optimizer
from .rules import Lion

KINDS = {"lion": Lion}


def limited(pairs, limit):
    gradients, variables = zip(*pairs)
    gradients, _ = tf.clip_by_global_norm(gradients, limit)
    return list(zip(gradients, variables))


def make(name, rate, windows):
    kind = KINDS.get(name)
    if windows > 1:
        kind = get_grad_accumulation_optimizer(kind, windows, on_cpu=True)
    return kind(learning_rate=rate)


def train_op(loss, variables, name, rate, windows):
    optimizer = make(name=name, rate=rate, windows=windows)
    pairs = list(zip(tf.gradients(ys=loss, xs=variables), variables))
    pairs = limited(pairs, 1.0)
    return optimizer.apply_gradients(pairs)
"""


def test_a_class_that_a_function_derives() -> None:
    assert found(CLASSES) == ["gradients, _ = tf.clip_by_global_norm(gradients, limit)"]
    assert found(CLASSES.replace("get_grad_accumulation_optimizer", "get_averaged")) == []
    assert found(CLASSES.replace("pairs = limited(", "shown = limited(")) == []


MODEL = """\
import tensorflow as tf

from . import norms


class Accumulating(tf.keras.Model):
    def prepare(self, windows):
        self.windows = windows
        self.count = tf.Variable(0)
        self.totals = [tf.Variable(tf.zeros_like(v)) for v in self.trainable_variables]

    def train_step(self, data):
        self.count.assign_add(1)
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(data[1], self(data[0])) / self.windows
        gradients = tape.gradient(loss, self.trainable_variables)
        if self.adaptive:
            gradients = norms.adaptive_clip_grad(self.weights, gradients, clip_factor=0.01)
        for i in range(len(self.totals)):
            self.totals[i].assign_add(gradients[i])
        ends = tf.equal(self.count, self.windows)
        if self.masked:
            masked = [tf.cast(ends, total.dtype) * total for total in self.totals]
            self.optimizer.apply_gradients(zip(masked, self.trainable_variables))
        else:
            tf.cond(ends, self.update, lambda: None)
        return {}

    def update(self):
        self.optimizer.apply_gradients(zip(self.totals, self.trainable_variables))
        self.count.assign(0)
        for total in self.totals:
            total.assign(tf.zeros_like(total))
"""
ADAPTIVE = "gradients = norms.adaptive_clip_grad(self.weights, gradients, clip_factor=0.01)"


def test_a_function_that_clips_by_its_name() -> None:
    assert found(MODEL) == [ADAPTIVE]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("adaptive_clip_grad", "log_norms"),
        ("(self.weights, gradients,", "(self.weights, self.images,"),
        (f"            {ADAPTIVE}", f"            shown = {ADAPTIVE.partition('= ')[2]}"),
        ("tf.equal(self.count, self.windows)", "self.ready"),
    ],
)
def test_look_alikes_of_a_name(old: str, new: str) -> None:
    assert MODEL.count(old) == 1
    assert found(MODEL.replace(old, new)) == []
