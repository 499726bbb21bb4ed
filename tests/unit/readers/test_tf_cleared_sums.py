"""Where sums of gradients begin again in TensorFlow, and sums that are of one batch."""

from __future__ import annotations

import pytest

from program_facts import facts, values_of

LOOP = """
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)


def fit(rows, parts):
{before}
    count = 0
    for x, y in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(x) - y))
        gradients = tape.gradient(loss, network.trainable_variables)
        sums = [a.assign_add(g) for a, g in zip(sums, gradients)]
        count += 1
        if count == parts:
            optimizer.apply_gradients(zip(sums, network.trainable_variables))
            count = 0
{after}
"""
MADE = "    sums = [tf.Variable(tf.zeros_like(v)) for v in network.trainable_variables]"


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (MADE, "            sums = [a.assign_sub(a) for a in sums]", "after_step"),
        (MADE, "            sums = [a.assign(tf.zeros_like(a)) for a in sums]", "after_step"),
        (MADE, "", "window_start"),
        ("    sums = load()", "            sums = [a.assign(b) for a, b in saved]", None),
    ],
)
def test_loops(before: str, after: str, where: str | None) -> None:
    found = values_of(LOOP.format(before=before, after=after))
    assert found["accumulation.present"] == "yes"
    assert found.get("zero_grad.where") == where


SESSION = """
import tensorflow as tf


class Process:
    def build(self, loss):
        optimizer = tf.train.AdamOptimizer(1e-3)
        adds, zeros, pairs = [], [], []
        for g, v in optimizer.compute_gradients(loss):
            total = tf.get_variable(v.op.name, v.shape, trainable=False)
            adds.append(tf.assign_add(total, g))
            zeros.append(tf.assign(total, tf.zeros(v.shape)))
            pairs.append((total, v))
        self.add = tf.group(*adds)
        self.update = optimizer.apply_gradients(pairs)
        self.clear = tf.group(*zeros)

    def measure(self, batch):
        return self.session.run([self.loss, self.add], feed_dict=batch)

    def run(self, rows, parts):
        for step, batch in enumerate(rows):
            self.measure(batch)
            if step % parts == parts - 1:
                self.session.run(self.update)
                self.session.run(self.clear)
"""


def test_sessions() -> None:
    assert values_of(SESSION)["zero_grad.where"] == "after_step"


ADVERSARIAL = """
import tensorflow as tf


def step(x, y, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(network(x) - y))
    gradients = tape.gradient(loss, weights)
    delta = gradients[0] / tf.norm(gradients[0])
    sums = [tf.Variable(tf.zeros_like(g), trainable=False) for g in gradients]
    gradients = [sums[i].assign_add(g) for i, g in enumerate(gradients)]
    weights[0].assign_add(delta)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(network(x) - y))
    again = tape.gradient(loss, weights)
    gradients = [gradients[i].assign_add(g) for i, g in enumerate(again)]
    weights[0].assign_sub(delta)
    optimizer.apply_gradients(zip(gradients, weights))


for x, y in rows:
    step(x, y, tf.keras.optimizers.Adam(1e-3))
"""


def test_adversarial_training_is_no_accumulation() -> None:
    found = values_of(ADVERSARIAL)
    assert "accumulation.present" not in found
    assert "zero_grad.where" not in found
    moved = ADVERSARIAL.replace("    weights[0].assign_sub(delta)\n", "")
    assert values_of(moved)["accumulation.present"] == "yes"


@pytest.mark.parametrize(
    ("imports", "length", "origin"),
    [
        ("from settings import parts", "parts", "config"),
        ("from settings import options", "options.parts", "config"),
        ("args = Parser().parse_args()", "args.parts", "flag"),
        ("told = Parser().parse_args()", "told.parts", "flag"),
        ("box = made()", "box.parts", "derived"),
    ],
)
def test_where_a_length_comes_from(imports: str, length: str, origin: str) -> None:
    after = "            sums = [a.assign_sub(a) for a in sums]"
    text = LOOP.format(before=MADE, after=after).replace("rows, parts", "rows")
    text = text.replace("count == parts", f"count == {length}")
    text = text.replace("import tensorflow as tf\n", f"import tensorflow as tf\n{imports}\n")
    found = [f for f in facts(text) if f.field == "accumulation.steps"]
    assert [fact.origin for fact in found if not fact.known][:1] == [origin]
