"""Gradients that TensorFlow programs add to variables: how many, divided or not, clipped when."""

from __future__ import annotations

import pytest

from program_facts import facts, values_of

GRAPH = """
import tensorflow as tf
optimizer = tf.train.AdamOptimizer(1e-3)
variables = tf.trainable_variables()
accum = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
zero = [v.assign(tf.zeros_like(v)) for v in accum]
pairs = optimizer.compute_gradients(tf.reduce_mean(losses), variables)
add = [accum[i].assign_add({added}) for i, pair in enumerate(pairs)]
train = optimizer.apply_gradients([({applied}, v) for i, v in enumerate(variables)])
with tf.Session() as session:
    for step in range(1000):
        session.run(zero)
        for {inner}:
            session.run({run}, feed_dict={{x: batch}})
        session.run(train)
"""


def graph(
    added: str = "pair_grad[0]",
    inner: str = "j in range(8)",
    run: str = "add",
    applied: str = "accum[i]",
) -> dict[str, object]:
    return values_of(GRAPH.format(added=added, inner=inner, run=run, applied=applied))


def test_a_sum_is_as_long_as_it_is_run() -> None:
    found = graph()
    assert found["accumulation.present"] == "yes"
    assert found["accumulation.steps"] == 8
    assert found["accumulation.loss_divided"] == "no"


@pytest.mark.parametrize("run", ["[add, loss]", "(loss, add)"])
def test_a_sum_that_is_run_with_others(run: str) -> None:
    assert graph(run=run)["accumulation.steps"] == 8


@pytest.mark.parametrize(
    ("inner", "run"),
    [("j in range(8)", "loss"), ("batch in batches", "add"), ("j in range(0, 8)", "add")],
)
def test_runs_of_something_else(inner: str, run: str) -> None:
    assert "accumulation.steps" not in graph(inner=inner, run=run)
    assert "accumulation.loss_divided" not in graph(inner=inner, run=run)


def test_gradients_are_divided_when_they_are_added() -> None:
    found = graph(added="pair_grad[0] / n", inner="j in range(n)")
    assert found["accumulation.loss_divided"] == "yes"
    found = graph(added="pair_grad[0] / 8")
    assert found["accumulation.loss_divided"] == "yes"
    assert found["accumulation.steps"] == 8


@pytest.mark.parametrize(
    "applied", ["accum[i] / n", "tf.divide(accum[i], n)", "accum[i] / float(n)"]
)
def test_sums_that_are_divided_when_they_are_applied(applied: str) -> None:
    assert graph(inner="j in range(n)", applied=applied).get("accumulation.loss_divided") != "no"


COUNTED = """
import tensorflow as tf
class Model(tf.keras.Model):
    def __init__(self, n):
        super().__init__()
        self.parts = tf.constant(n)
        self.seen = tf.Variable(0, trainable=False)
        self.grad_accum = [tf.Variable(tf.zeros_like(v)) for v in self.trainable_variables]
    def train_step(self, data):
        self.seen.assign_add({by})
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True)){divided}
        gradients = tape.gradient(loss, self.trainable_variables)
        for i in range(len(self.grad_accum)):
            self.grad_accum[i].assign_add(gradients[i])
        tf.cond({test}, {branch}, lambda: None)
    def apply_sums(self):
        self.optimizer.apply_gradients(zip(self.grad_accum, self.trainable_variables))
        self.seen.assign(0)
model = Model(4)
"""


def counted(
    test: str = "tf.equal(self.seen, self.parts)",
    by: str = "1",
    divided: str = "",
    branch: str = "self.apply_sums",
) -> dict[str, object]:
    return values_of(COUNTED.format(test=test, by=by, divided=divided, branch=branch))


@pytest.mark.parametrize(
    "test",
    ["tf.equal(self.seen, self.parts)", "self.parts == self.seen", "self.seen >= self.parts"],
)
def test_a_variable_that_counts_up_to_the_length(test: str) -> None:
    found = counted(test)
    assert found["accumulation.loss_divided"] == "no"
    assert found["accumulation.steps"] is not None
    assert counted(test, divided=" / self.parts").get("accumulation.loss_divided") != "no"


@pytest.mark.parametrize(
    ("test", "by", "branch"),
    [
        ("tf.equal(self.other, self.parts)", "1", "self.apply_sums"),
        ("tf.equal(self.seen, self.parts)", "rows", "self.apply_sums"),
        ("tf.equal(self.seen, self.parts)", "1", "self.log"),
        ("self.seen < self.parts", "1", "self.apply_sums"),
    ],
)
def test_conditions_about_something_else(test: str, by: str, branch: str) -> None:
    found = counted(test, by, branch=branch)
    assert found["accumulation.present"] == "yes"
    assert "accumulation.steps" not in found  # not the number of variables
    assert "accumulation.loss_divided" not in found


CLIPPED = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)
accum = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
for i, (x, y) in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) / 4
    gradients = tape.gradient(loss, model.trainable_variables)
    {before}
    {add}
    if (i + 1) % 4 == 0:
        {after}
        optimizer.apply_gradients(zip({applied}, model.trainable_variables))
        for one in accum:
            one.assign(tf.zeros_like(one))
"""
ADD = "for one, more in zip(accum, gradients):\n        one.assign_add(more)"


@pytest.mark.parametrize(
    ("before", "add", "after", "applied", "per"),
    [
        ("gradients, _ = tf.clip_by_global_norm(gradients, 1.0)", ADD, "pass", "accum", "micro"),
        ("gradients = [tf.clip_by_norm(g, 1.0) for g in gradients]", ADD, "pass", "accum", "micro"),
        (
            "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
            "accum = [a + g for a, g in zip(accum, gradients)]",
            "pass",
            "accum",
            "micro",
        ),
        ("pass", ADD, "clipped, _ = tf.clip_by_global_norm(accum, 1.0)", "clipped", "step"),
    ],
)
def test_when_sums_are_clipped(before: str, add: str, after: str, applied: str, per: str) -> None:
    text = CLIPPED.format(before=before, add=add, after=after, applied=applied)
    assert values_of(text)["clipping.per"] == per


def test_a_graph_that_clips_what_it_adds() -> None:
    found = graph(added="clipped[i]")
    assert "clipping.per" not in found
    text = GRAPH.replace("add = [", "clipped, _ = tf.clip_by_global_norm(pair_grads, 1.0)\nadd = [")
    whole = text.format(added="clipped[i]", inner="j in range(8)", run="add", applied="accum[i]")
    assert values_of(whole)["clipping.per"] == "micro"


HELPED = """
import tensorflow as tf
from transformers import GradientAccumulator

accumulator = GradientAccumulator()
optimizer = tf.keras.optimizers.Adam(1e-3)
"""


def test_the_division_by_a_helper_is_less_sure_than_one_that_is_seen() -> None:
    sure = [f.confidence for f in facts(HELPED) if f.field == "accumulation.loss_divided"]
    assert sure == ["likely"]
    own = HELPED.replace("transformers", "theirs.sums")  # a file that was not given
    assert "accumulation.loss_divided" not in {f.field for f in facts(own)}
