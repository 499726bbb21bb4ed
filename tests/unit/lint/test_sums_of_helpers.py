"""Sums of gradients whose windows, means or lengths stand in other functions than the update."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(**texts: str) -> list[tuple[str, str, int]]:
    """Return code, file and line of the findings about windows."""
    sources = [Source(f"{name}.py", text) for name, text in texts.items()]
    return [
        (d.code, d.span.file, d.span.line)
        for d in lint_sources(sources)
        if d.code in ("CL101", "CL104", "CL303") and d.span
    ]


MEAN = """\
import tensorflow as tf

from losses import compare

optimizer = tf.keras.optimizers.SGD(0.1)
sums = [tf.Variable(tf.zeros_like(v)) for v in network.trainable_variables]


@tf.function
def micro(x, y, last):
    with tf.GradientTape() as tape:
        loss = compare(network(x), y)
        loss = tf.reduce_mean(loss)
    gradients = tape.gradient(loss, network.trainable_variables)
    for total, gradient in zip(sums, gradients):
        total.assign_add(gradient)
    if last:
        optimizer.apply_gradients(zip(sums, network.trainable_variables))
        for total in sums:
            total.assign(tf.zeros_like(total))


for number, (x, y) in enumerate(rows):
    micro(x, y, (number + 1) % accumulation_steps == 0)
"""
LOSSES = """\
import tensorflow as tf

entropy = tf.keras.losses.SparseCategoricalCrossentropy(reduction="none")


def compare(scores, labels):
    return entropy(labels, scores)
"""


def test_a_mean_of_losses_of_rows() -> None:
    assert found(train=MEAN, losses=LOSSES) == [("CL101", "train.py", 16)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.reduce_mean(loss)", "tf.reduce_sum(loss)"),
        ("tf.reduce_mean(loss)", "tf.reduce_mean(loss) / accumulation_steps"),
        ("tf.reduce_mean(loss)", "tf.reduce_mean(loss, axis=0)"),
        ("        loss = tf.reduce_mean(loss)\n", ""),
        ("compare(network(x), y)", "compare(network(x), y) * y.reward"),
    ],
)
def test_sums_that_may_be_meant(old: str, new: str) -> None:
    assert MEAN.count(old) == 1
    assert found(train=MEAN.replace(old, new), losses=LOSSES) == []


WINDOW = """\
import tensorflow as tf


class Steps:
    def __init__(self, network):
        self.network, self.sums = network, None

    def window(self, x, y, accumulation_steps):
        if self.sums is None:
            self.sums = [tf.Variable(tf.zeros_like(v)) for v in self.network.trainable_variables]
        for part in range(accumulation_steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.network(x[part]) - y[part]))
            gradients = tape.gradient(loss, self.network.trainable_variables)
            gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
            for i, gradient in enumerate(gradients):
                self.sums[i].assign_add(gradient)
        mean = [total / tf.cast(accumulation_steps, total.dtype) for total in self.sums]
        self.sums = None
        return mean
"""
APPLIES = """\
import tensorflow as tf

from window import Steps

optimizer = tf.keras.optimizers.Adam(1e-3)
steps = Steps(network)
for x, y in rows:
    mean = steps.window(x, y, 4)
    optimizer.apply_gradients(zip(mean, network.trainable_variables))
"""
CLIP = "            gradients, _ = tf.clip_by_global_norm(gradients, 1.0)\n"


def test_a_window_in_a_function_that_returns_its_mean() -> None:
    assert found(main=APPLIES, window=WINDOW) == [("CL303", "window.py", 15)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CLIP, ""),
        ("range(accumulation_steps)", "range(len(self.tasks))"),
        ("        self.sums = None\n", "        mean, _ = tf.clip_by_global_norm(mean, 1.0)\n"),
    ],
)
def test_clips_that_no_window_is_known_for(old: str, new: str) -> None:
    assert WINDOW.count(old) == 1
    text = WINDOW.replace(old, new)
    assert found(main=APPLIES, window=text.replace(CLIP, "") if "mean, _" in new else text) == []


WRAPPER = """\
import tensorflow as tf


def accumulating(base, accum_steps):
    class Accumulating(base):
        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            adds, pairs = [], []
            for g, v in grads_and_vars:
                total = tf.compat.v1.get_variable(v.op.name + "_sum", v.shape, trainable=False)
                adds.append(total.assign_add(g))
                pairs.append((total, v))
            with tf.control_dependencies(adds):
                return tf.cond(
                    tf.equal(global_step % accum_steps, accum_steps - 1),
                    lambda: super(Accumulating, self).apply_gradients(pairs, name=name),
                    lambda: tf.no_op(),
                )

    return Accumulating
"""
USES = """\
import tensorflow as tf

from wrapper import accumulating


def update(loss, rate, steps):
    variables = tf.compat.v1.trainable_variables()
    kind = accumulating(tf.compat.v1.train.AdamOptimizer, steps)
    optimizer = kind(rate)
    gradients = tf.gradients(loss, variables)
    step = tf.compat.v1.train.get_global_step()
    return optimizer.apply_gradients(zip(gradients, variables), global_step=step)
"""


def test_the_length_that_a_wrapper_is_given() -> None:
    assert found(main=USES, wrapper=WRAPPER) == [("CL101", "main.py", 8)]
    mean = WRAPPER.replace("assign_add(g)", "assign_add(g / accum_steps)")
    assert found(main=USES, wrapper=mean) == []
    twice = USES + "\n\nother = accumulating(tf.compat.v1.train.MomentumOptimizer, 2)\n"
    assert {file for _, file, _ in found(main=twice, wrapper=WRAPPER)} == {"wrapper.py"}


def test_the_length_of_a_loop_of_another_file() -> None:
    loop = MEAN.replace("for number,", "def run(rows, accumulation_steps):\n  for number,")
    loop = loop.replace("    micro(x", "      micro(x")
    main = "from train import run\n\nrun(load(), 4)\n"
    assert found(main=main, train=loop, losses=LOSSES) == [("CL101", "train.py", 16)]
