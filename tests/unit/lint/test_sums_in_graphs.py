"""Rules about sums of gradients in graphs of TensorFlow 1 and optimizers of Keras 1."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

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


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("session.run(add)", "shown += session.run(loss) / windows; session.run(add)", ["CL101"]),
        ("session.run(add)", 'session.run(add); print("%.2f" % (total / windows))', ["CL101"]),
        ("session.run(add)", "session.run(add); print(f'{total / windows}')", ["CL101"]),
        ("session.run(add)", "session.run(add); total = total / windows", []),
        ("clear, add, step =", "rate = 1e-3\nrate /= windows\nclear, add, step =", ["CL101"]),
        ("AdamOptimizer(rate)", "AdamOptimizer(rate / windows)", ["CL101"]),
        ("AdamOptimizer(rate)", "GradientDescentOptimizer(rate / windows)", []),
        ("(loss, variables)", "(loss / windows, variables)", []),
    ],
)
def test_quotients_that_are_no_mean(old: str, new: str, expected: list[str]) -> None:
    assert codes(GRAPH.replace(old, new, 1)) == expected


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


TRAINER = """\
import tensorflow as tf


class Trainer:
    def __init__(self, optimizer, towers, windows):
        self.windows = windows
        self.seen = tf.Variable(0, trainable=False)
        collected = []
        for images, labels in towers:
            loss = tf.losses.mean_squared_error(labels, network(images))
            collected.append(optimizer.compute_gradients(loss))
        pairs, adds, clears = [], [], []
        for gradient, weight in self.mean_of(collected):
            total = tf.get_variable("total/" + weight.op.name, gradient.shape, trainable=False)
            pairs.append((total, weight))
            adds.append(tf.assign_add(total, gradient))
            clears.append(tf.assign(total, tf.zeros_like(total)))
        self.add = tf.group(*adds)
        self.clear = tf.group(*clears)
        self.update = optimizer.apply_gradients(pairs)
        self.count = tf.assign_add(self.seen, 1)

    def mean_of(self, collected):
        means = []
        for pairs in zip(*collected):
            stacked = tf.stack([gradient for gradient, _ in pairs])
            means.append((tf.reduce_mean(stacked, axis=0), pairs[0][1]))
        return means

    def micro_batch(self, feed):
        operations = [self.loss]
        operations += [self.add, self.count]
        return self.session.run(operations, feed)

    def train(self, rows):
        for feed in rows:
            self.micro_batch(feed)
            seen = self.session.run(self.seen)
            if seen % self.windows == self.windows - 1:
                self.session.run(self.update)
                self.session.run(self.clear)
"""


def test_a_graph_whose_towers_are_lists() -> None:
    assert codes(TRAINER) == ["CL101", "CL104"]
    divided = TRAINER.replace("total, gradient)", "total, gradient / self.windows)")
    assert codes(divided) == ["CL104"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("== self.windows - 1", "== 0"),
        ("self.windows - 1:", "self.windows - 2:"),
        ("self.add, self.count]", "self.add]"),
        ("tf.Variable(0,", "tf.Variable(start,"),
        ("apply_gradients(pairs)", "apply_gradients(pairs, self.seen)"),
    ],
)
def test_counters_of_sessions_that_are_right_or_unknown(old: str, new: str) -> None:
    assert codes(TRAINER.replace(old, new)) == ["CL101"]


def test_graphs_without_windows() -> None:
    always = TRAINER.replace("if seen % self.windows == self.windows - 1:", "if True:")
    shown = TRAINER.replace("self.add, self.count]", "self.add, self.update]")
    assert codes(always) == codes(shown) == []


WRAPPED = """\
import tensorflow as tf


class Wrapper:
    def __init__(self, inner, weights):
        self.inner = inner
        self.sums = {w: tf.Variable(tf.zeros_like(w), trainable=False) for w in weights}

    def compute_gradients(self, loss):
        pairs = self.inner.compute_gradients(loss)
        added = [self.sums[w].assign_add(g) for g, w in pairs]
        with tf.control_dependencies(added):
            return tf.no_op()

    def apply_gradients(self):
        return self.inner.apply_gradients([(g, w) for w, g in self.sums.items()])


wrapper = Wrapper(tf.train.GradientDescentOptimizer(0.1), tf.trainable_variables())
add = wrapper.compute_gradients(tf.losses.mean_squared_error(x, y))
step = wrapper.apply_gradients()
with tf.Session() as session:
    while True:
        for _ in range(micro_batches):
            session.run(add)
        session.run(step)
"""


def test_an_operation_that_only_waits() -> None:
    assert codes(WRAPPED) == ["CL101"]
    assert codes(WRAPPED.replace("assign_add(g)", "assign_add(g / micro_batches)")) == []
    assert codes(WRAPPED.replace("control_dependencies(added)", "name_scope('added')")) == []


def test_lists_of_the_same_name_elsewhere() -> None:
    logged = """\
import tensorflow as tf


def train(optimizer, towers, session):
    total = []
    for loss in towers:
        total.append(optimizer.compute_gradients(loss))
    update = optimizer.apply_gradients(total[0])

    def epoch(rows):
        total = 0.0
        for i, row in enumerate(rows):
            _, loss = session.run([update, towers[0]], row)
            total += loss
            if i % accumulate == 0:
                print(total)
        return total
    return epoch
"""
    assert codes(logged) == []


def test_a_helper_in_another_file() -> None:
    helper, _, program = WRAPPED.partition("\n\nwrapper = ")
    program = "import tensorflow as tf\nfrom sums import Wrapper\n\nwrapper = " + program
    found = lint_sources([Source("train.py", program), Source("sums.py", helper)])
    spans = [d.span for d in found if d.code == "CL101"]
    assert [(s.file, s.text.strip()) for s in spans if s] == [
        ("train.py", "for _ in range(micro_batches):")
    ]


def test_a_method_called_run_is_no_session() -> None:
    text = """
import tensorflow as tf
class Trainer:
    def window(self, batches):
        total = [tf.zeros_like(v) for v in self.model.trainable_variables]
        for i in range(self.accum_steps):
            x, y = next(batches)
            with tf.GradientTape() as tape:
                loss = self.run(x, y) / self.accum_steps
            gradients = tape.gradient(loss, self.model.trainable_variables)
            total = [a + b for a, b in zip(total, gradients)]
        self.optimizer.apply_gradients(zip(total, self.model.trainable_variables))
    def run(self, x, y):
        return tf.reduce_mean(tf.square(self.model(x) - y))
"""
    assert codes(text) == []
    assert codes(text.replace(" / self.accum_steps", "")) == ["CL101"]
