"""Rules about sums of gradients in graphs of TensorFlow 1 and optimizers of Keras 1."""

from __future__ import annotations

from crosscast.lint.engine import lint_sources
from crosscast.messages.source import Source

WATCHED = ("CL101", "CL104", "CL105", "CL303")


def codes(text: str) -> list[str]:
    """Return the codes about windows that are found in a program."""
    found = lint_sources([Source("train.py", text)])
    return sorted({d.code for d in found if d.code in WATCHED})


GRAPH = """\
import tensorflow as tf


def build(loss, rate):
    optimizer = tf.train.AdamOptimizer(rate)
    variables = tf.trainable_variables()
    totals = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
    clear = [t.assign(tf.zeros_like(t)) for t in totals]
    pairs = optimizer.compute_gradients(loss, variables)
    add = [totals[i].assign_add(pair[0]) for i, pair in enumerate(pairs)]
    step = optimizer.apply_gradients([(totals[i], pair[1]) for i, pair in enumerate(pairs)])
    return clear, add, step


clear, add, step = build(tf.losses.mean_squared_error(x, y), 1e-3)
with tf.Session() as session:
    for _ in range(1000):
        session.run(clear)
        for _ in range(windows):
            session.run(add)
        session.run(step)
"""


def test_a_graph_with_a_session() -> None:
    assert codes(GRAPH) == ["CL101"]
    assert codes(GRAPH.replace("pair[0])", "pair[0] / windows)")) == []
    assert codes(GRAPH.replace("session.run(add)", "session.run([add, step])")) == []
    assert codes(GRAPH.replace("range(windows)", "range(1)")) == []
    assert codes(GRAPH.replace("mean_squared_error(x, y)", "error(x, reward)")) == []


KERAS_GRAPH = """\
from keras import backend as K
from keras.optimizers import Optimizer


class Accumulating(Optimizer):
    def __init__(self, optimizer, windows, **kwargs):
        super().__init__(**kwargs)
        self.optimizer = optimizer
        self.windows = windows
        self.ends = K.equal(self.iterations % self.windows, 0)

    def get_updates(self, loss, params):
        self.updates = [K.update_add(self.iterations, 1)]
        self.totals = [K.zeros(K.int_shape(p)) for p in params]
        gradients = self.get_gradients(loss, params)
        for g, total in zip(gradients, self.totals):
            self.updates.append(K.update(total, K.switch(self.ends, g, total + g)))
        self.updates.extend(self.optimizer.get_updates(loss, params))
        return self.updates
"""


def test_an_optimizer_of_keras_1() -> None:
    assert codes(KERAS_GRAPH) == ["CL101"]
    divided = KERAS_GRAPH.replace(
        "    def get_updates",
        "    def gradients(self):\n"
        "        return [total / self.windows for total in self.totals]\n\n    def get_updates",
    )
    assert codes(divided) == []
    kept = KERAS_GRAPH.replace("K.switch(self.ends, g, total + g)", "total + g")
    assert codes(kept) == []
    uncounted = KERAS_GRAPH.replace("self.iterations % self.windows", "self.iterations")
    assert codes(uncounted) == []
    elsewhere = KERAS_GRAPH.replace("(Optimizer):", "(Callback):")
    assert codes(elsewhere) == []


def test_loops_over_tasks() -> None:
    tasks = GRAPH.replace("range(windows)", "range(tasks)").replace("totals", "sums")
    assert codes(tasks) == []
    assert codes(GRAPH.replace("range(windows)", "range(tasks)")) == ["CL101"]
    assert codes(GRAPH.replace("totals", "sums")) == ["CL101"]
