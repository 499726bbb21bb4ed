"""Windows of graphs whose test reads the counter before anything advances it (CL104)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(text: str) -> bool:
    return "CL104" in {d.code for d in lint_sources([Source("train.py", text)])}


GRAPH = """\
import tensorflow as tf


def model_fn(features, labels, mode, params):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
    optimizer = tf.train.AdamOptimizer(1e-3)
    windows = params["windows"]
    count = tf.train.get_global_step()
    weights = tf.trainable_variables()
    gradients = tf.gradients(loss, weights)
    totals = [tf.Variable(tf.zeros_like(w), trainable=False) for w in weights]

    def add():
        return tf.group([t.assign_add(g) for t, g in zip(totals, gradients)])

    def update():
        with tf.control_dependencies([add()]):
            means = [t / windows for t in totals]
            step = optimizer.apply_gradients(zip(means, weights), global_step=None)
            with tf.control_dependencies([step]):
                return tf.group([t.assign(tf.zeros_like(t)) for t in totals])

    train = tf.cond(tf.equal(count % windows, 0), update, add)
    train = tf.group(train, [tf.assign_add(count, 1)])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)
"""
TEST = "    train = tf.cond(tf.equal(count % windows, 0), update, add)\n"
ADVANCE = "    train = tf.group(train, [tf.assign_add(count, 1)])\n"
STEP = "tf.train.get_global_step()"


def test_a_test_before_the_first_count() -> None:
    assert found(GRAPH)
    assert found(GRAPH.replace("tf.equal(count % windows, 0)", "count % windows == 0"))
    assert found(GRAPH.replace(STEP, "tf.Variable(0, trainable=False)"))
    assert found(GRAPH.replace(", global_step=None", ""))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count % windows", "(count + 1) % windows"),
        ("tf.equal(count % windows, 0)", "tf.equal(count % windows, windows - 1)"),
        (STEP, "tf.Variable(1, trainable=False)"),
        (STEP, "params['count']"),
        ("global_step=None", "global_step=count"),
        ("weights), global_step=None", "weights), count"),
        (TEST + ADVANCE, f"    first = tf.assign_add(count, 1)\n{TEST}"),
        (
            TEST + ADVANCE,
            f"    first = tf.assign_add(count, 1)\n    with tf.control_dependencies([first]):\n"
            f"    {TEST}",
        ),
        (ADVANCE, f"{ADVANCE}    train = tf.group(train, tf.assign_add(count, 1))\n"),
    ],
)
def test_counts_that_are_right_or_unknown(old: str, new: str) -> None:
    assert old in GRAPH
    assert not found(GRAPH.replace(old, new))
