"""Global steps of TensorFlow 1 that an optimizer and its caller both advance."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

GRAPH = """\
import tensorflow.compat.v1 as tf


class Decaying({base}):
    def _apply_dense(self, grad, var):
        return var.assign_sub(self.rate * grad)
{methods}

def train_op(loss, rate, kind, windows):
    step = tf.train.get_or_create_global_step()
    if kind == "decaying":
        optimizer = Decaying(rate)
    else:
        optimizer = unknown.Lamb(rate)
    pairs = zip(tf.gradients(loss, tf.trainable_variables()), tf.trainable_variables())
    update = optimizer.apply_gradients(pairs, global_step=step)
    if kind == "decaying":
        following = tf.cond(tf.constant(True), lambda: step + 1, lambda: step)
        update = tf.group(update, [step.assign(following)])
    return update
"""
IGNORES = """
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(self.rate * g) for g, v in grads_and_vars], name=name)
"""
ADDS = IGNORES.replace("        return tf.group(", "        return tf.group(counted, ").replace(
    "name=None):\n", "name=None):\n        counted = tf.assign_add(global_step, 1)\n"
)


def lines(text: str) -> list[str]:
    """Return the lines at which CL510 is found."""
    found = lint_sources([Source("train.py", text)])
    spans = [d.span for d in found if d.code == "CL510" and d.span]
    return [text.splitlines()[span.line - 1].strip() for span in spans]


def graph(base: str = "tf.train.Optimizer", methods: str = "") -> str:
    return GRAPH.format(base=base, methods=methods)


LINE = "update = tf.group(update, [step.assign(following)])"


def test_classes_that_count() -> None:
    assert lines(graph()) == [LINE]
    assert lines(graph(methods=ADDS)) == [LINE]


def test_classes_that_do_not() -> None:
    assert lines(graph(methods=IGNORES)) == []
    assert lines(graph(base="base.Optimizer")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pairs, global_step=step)", "pairs)"),
        ("pairs, global_step=step)", "pairs, global_step=other)"),
        ("lambda: step + 1, lambda: step)", "lambda: other + 1, lambda: step)"),
        (
            '    if kind == "decaying":\n        following',
            '    if kind == "lamb":\n        following',
        ),
        ("        optimizer = Decaying(rate)\n", "        optimizer = wrap(Decaying(rate))\n"),
        ("    pairs = zip(", "    optimizer = wrap(optimizer)\n    pairs = zip("),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    text = graph()
    assert text.count(old) == 1
    assert lines(text.replace(old, new)) == []


WRAPPED = """\
import tensorflow.compat.v1 as tf


class Summing(tf.train.Optimizer):
    def __init__(self, inner, windows):
        self.inner = inner
        self.windows = windows

    def count(self, global_step):
        return tf.assign_add(global_step, 1)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.cond(self.is_full(), lambda: self.update(global_step), self.count)


def train_op(loss, windows, own):
    step = tf.train.get_or_create_global_step()
    optimizer = theirs.Adam(1e-3)
    if windows > 1:
        optimizer = Summing(optimizer, windows)
    update = optimizer.apply_gradients(optimizer.compute_gradients(loss), global_step=step)
    if own:
        update = tf.group(update, tf.assign(step, step + 1))
    return update
"""


def test_a_wrapper_that_counts() -> None:
    assert lines(WRAPPED) == ["update = tf.group(update, tf.assign(step, step + 1))"]
    assert lines(WRAPPED.replace("    if own:", "    if not windows > 1:")) == []
    assert lines(WRAPPED.replace("tf.assign_add(global_step, 1)", "tf.no_op()")) == []
