"""Rates in variables, and what other libraries do for TensorFlow programs."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.accumulation import READER as LOOPS
from program_facts import values_of

PLATEAU = """
import tensorflow as tf

rate = tf.compat.v1.get_variable("rate", initializer=0.002, trainable=False)
lower = rate.assign(tf.multiply(rate, 0.3))
train = tf.compat.v1.train.AdamOptimizer(rate).minimize(loss)
with tf.compat.v1.Session() as session:
    for epoch in range(30):
        session.run(train)
        if waited > patience:
            session.run(lower)
"""


def test_a_variable_that_is_lowered() -> None:
    found = values_of(PLATEAU)
    assert found["schedule.name"] == "plateau"
    assert found["schedule.stepped_per"] == "epoch"
    assert found["optimizer.learning_rate"] == 0.002
    assert values_of(PLATEAU.replace("waited > patience", "True"))["schedule.name"] == "custom"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.multiply(rate, 0.3)", "0.001"),
        ("tf.multiply(rate, 0.3)", "saved"),
        ("rate.assign", "scale.assign"),
        ("AdamOptimizer(rate)", "AdamOptimizer(0.002)"),
    ],
)
def test_variables_without_a_schedule(old: str, new: str) -> None:
    assert PLATEAU.count(old) == 1
    assert "schedule.name" not in values_of(PLATEAU.replace(old, new))


STEPS = """
import bisect
import tensorflow as tf


class Trainer:
    def __init__(self, rates, limits):
        self.rates, self.limits = rates, limits
        self.rate = tf.Variable(0.1, trainable=False)
        self.optimizer = tf.keras.optimizers.SGD(learning_rate=lambda: self.rate)

    def step(self, number):
        self.now = self.rates[bisect.bisect_right(self.limits, number)]
        if number < self.warmup:
            self.now = self.now * number / self.warmup
        self.rate.assign(self.now / self.parts)
        with tf.GradientTape() as tape:
            loss = criterion(self.model(rows))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
"""


def test_rates_of_a_list() -> None:
    found = values_of(STEPS)
    assert (found["schedule.name"], found["schedule.has_warmup"]) == ("multistep", "yes")
    plain = STEPS.replace("bisect.bisect_right(self.limits, number)", "0")
    assert values_of(plain).get("schedule.name") != "multistep"


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        ("tf.scalar_mul(base, tf.pow(1 - step / total, power))", "polynomial"),
        ("base * tf.pow(1.0 - step / 9000, 0.9)", "polynomial"),
        ("base * tf.pow(2.0, -levels)", None),
        ("0.1", None),
    ],
)
def test_a_power_of_the_rest(rate: str, found: str | None) -> None:
    text = f"import tensorflow as tf\nrate = {rate}\ntf.train.AdamOptimizer(rate).minimize(loss)\n"
    assert values_of(text).get("schedule.name") == found


OTHERS = """
import tensorflow as tf
from mpi4py import MPI
import fastops
import memory_saving_gradients


@fastops.recompute
def block(x):
    return x


def train(loss, options):
    h = block(x, recompute=options.recompute)
    gradients = fastops.group_allreduce(tf.gradients(loss, weights))
    scale = fastops.clip_by_global_norm(gradients, clip_norm=2.0)
    return tf.train.AdamOptimizer(1e-3).apply_gradients(zip(gradients, weights))
"""


def test_libraries_beside_tensorflow() -> None:
    found = values_of(OTHERS)
    assert found["parallel.kind"] == ("library",)
    assert found["activation_checkpointing"] == "flag"
    always = values_of(OTHERS.replace("block(x, recompute=options.recompute)", "block(x)"))
    assert always["activation_checkpointing"] == "yes"


def test_what_other_libraries_do_not_do() -> None:
    plain = OTHERS.replace("@fastops.recompute\n", "").replace("from mpi4py import MPI\n", "")
    found = values_of(plain)
    assert "activation_checkpointing" not in found
    assert "parallel.kind" not in found
    losses = OTHERS.replace("group_allreduce(tf.gradients(loss, weights))", "allreduce(loss)")
    assert "parallel.kind" not in values_of(losses)


def test_gradients_that_save_memory() -> None:
    text = OTHERS.replace("tf.gradients(", "memory_saving_gradients.gradients(")
    plain = text.replace("@fastops.recompute\n", "")
    assert values_of(plain)["activation_checkpointing"] == "yes"


def test_an_optimizer_of_mpi() -> None:
    text = """
    import tensorflow as tf
    from workers import MpiAdamOptimizer
    update = MpiAdamOptimizer(comm, learning_rate=2e-4).minimize(loss)
    """
    found = values_of(text)
    assert (found["optimizer.name"], found["parallel.kind"]) == ("adam", ("library",))


@pytest.mark.parametrize(
    ("fed", "schedule", "rate"),
    [
        ("self.rate", None, 0.03),
        ("0.2", None, 0.2),
        ("self.rate * fraction", "caller", None),
        ("rates[step]", "caller", None),
    ],
)
def test_a_rate_that_is_fed(fed: str, schedule: str | None, rate: float | None) -> None:
    text = f"""
    import tensorflow as tf

    class Agent:
        def __init__(self, rate=0.03):
            self.rate = rate
            self.fed_rate = tf.placeholder(tf.float32, [])
            self.train = tf.train.AdamOptimizer(learning_rate=self.fed_rate).minimize(loss)

        def update(self, session, step):
            session.run(self.train, feed_dict={{self.fed_rate: {fed}}})
    """
    found = values_of(text)
    assert found.get("schedule.name") == schedule
    if rate is not None:
        assert found["optimizer.learning_rate"] == rate


def test_two_lists_of_gradients_are_no_towers() -> None:
    text = """
    import tensorflow as tf

    def step(optimizer, towers, old):
        gradients = {}
        optimizer.apply_gradients(zip(gradients, weights))
    """
    towers = values_of(text.replace("{}", "average_gradients(towers)"))
    assert towers["parallel.kind"] == ("towers",)
    added = values_of(text.replace("{}", "merge_grads(old_grads, new_grads)"))
    assert "parallel.kind" not in added


def test_where_a_graph_is_cleared() -> None:
    text = """
    import tensorflow as tf
    variables = tf.trainable_variables()
    sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
    clear = [s.assign(tf.zeros_like(s)) for s in sums]
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    add = [sums[i].assign_add(g) for i, (g, _) in enumerate(pairs)]
    update = optimizer.apply_gradients(zip(sums, variables))
    with tf.Session() as session:
        for step in range(100):
            {}
            for _ in range(4):
                session.run(add)
            session.run(update)
            {}
    """
    clear = "session.run(clear)"
    assert values_of(text.format(clear, "pass"))["zero_grad.where"] == "window_start"
    assert values_of(text.format("pass", clear))["zero_grad.where"] == "after_step"


def test_a_function_that_changes_two_dictionaries() -> None:
    text = """
    import tensorflow as tf

    class Trainer:
        def __init__(self, options):
            self.first = self.changed(options["first"])
            self.second = self.changed(options["second"])
            self.one = tf.keras.optimizers.Adam(self.first["rate"])
            self.two = tf.keras.optimizers.SGD(self.second["rate"])

        def changed(self, given):
            copied = given.copy()
            copied["rate"] = copied["rate"] * 1 / copied["every"]
            return copied

    Trainer({"first": {"rate": 0.1, "every": 8}, "second": {"rate": 0.1, "every": 16}})
    """
    found = values_of(text)
    rates = [value for field, value in found.items() if field.startswith("optimizer.learning_rate")]
    assert rates
    assert 0.0125 not in rates  # that of the first for both
    same = values_of(text.replace("16", "8"))
    rates = [value for field, value in same.items() if field.startswith("optimizer.learning_rate")]
    assert rates


LOOP = """
import tensorflow as tf
for inputs, targets in rows:
    with tf.GradientTape() as tape:
        loss = criterion(targets, model(inputs))
    gradients = tape.gradient(loss, model.trainable_variables)
    {}, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(("name", "clips"), [("gradients", True), ("_", False), ("small", False)])
def test_clipped_gradients_that_nothing_reads(name: str, clips: bool) -> None:
    program, _ = read_program([Source("train.py", LOOP.format(name))])
    fields = {fact.field for fact in LOOPS.read(program)}
    assert ("clipping.value" in fields) is clips


PRIVATE = """
import tensorflow as tf
from private_training import PrivateSGDOptimizer
optimizer = PrivateSGDOptimizer(l2_norm_clip=1.5, noise_multiplier=1.1, learning_rate=0.1)
model.compile(optimizer=optimizer, loss=criterion)
model.fit(rows)
"""


def test_clips_of_private_optimizers() -> None:
    found = values_of(PRIVATE)
    assert (found["clipping.kind"], found["clipping.value"]) == ("global_norm", 1.5)
    assert found["clipping.per"] == "micro"
    query = PRIVATE.replace("PrivateSGDOptimizer(l2", "noisy_sum(l2")
    assert "clipping.kind" not in values_of(query)
