"""Rules about sums of gradients in variables: TensorFlow in loops, classes, optimizers, graphs."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

WATCHED = ("CL101", "CL104", "CL105", "CL303")


def codes(text: str) -> list[str]:
    """Return the codes about windows that are found in a program."""
    found = lint_sources([Source("train.py", text)])
    return sorted({d.code for d in found if d.code in WATCHED})


def lines(text: str, code: str) -> list[str]:
    """Return the lines that a code is found at, without their indent."""
    found = lint_sources([Source("train.py", text)])
    return [text.splitlines()[d.span.line - 1].strip() for d in found if d.code == code and d.span]


MODEL = """\
import tensorflow as tf


class AccumulatingModel(tf.keras.Model):
    def __init__(self, windows, **kwargs):
        super().__init__(**kwargs)
        self.windows = tf.constant(windows, dtype=tf.int32)
        self.count = tf.Variable(0, dtype=tf.int32, trainable=False)
        self.totals = [
            tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables
        ]

    def train_step(self, data):
        self.count.assign_add(1)
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        for i in range(len(self.totals)):
            self.totals[i].assign_add(gradients[i])
        tf.cond(tf.equal(self.count, self.windows), self.update, lambda: None)
        return {m.name: m.result() for m in self.metrics}

    def update(self):
        self.optimizer.apply_gradients(zip(self.totals, self.trainable_variables))
        self.count.assign(0)
        for total in self.totals:
            total.assign(tf.zeros_like(total))
"""
ADD = "self.totals[i].assign_add(gradients[i])"


def test_a_model_that_adds_up() -> None:
    assert codes(MODEL) == ["CL101"]
    assert lines(MODEL, "CL101") == [ADD]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ADD, "self.totals[i].assign_add(gradients[i] / tf.cast(self.windows, tf.float32))"),
        (ADD, "self.totals[i].assign_add(self.factor * gradients[i])"),
        (ADD, "self.totals[i].assign_add(tf.divide(gradients[i], self.windows))"),
        ("self(x, training=True))\n", "self(x, training=True)) / self.windows\n"),
        ("zip(self.totals,", "zip([t / self.windows for t in self.totals],"),
        ("loss = self.compiled_loss(y, self(x, training=True))", "loss = tf.reduce_sum(self(x))"),
        (ADD, "self.norms.assign_add(tf.norm(gradients[i]))"),
        ("zip(self.totals,", "zip(self.read(),"),
        ("tf.equal(self.count, self.windows)", "self.ready"),
        ("windows, dtype", "1, dtype"),
    ],
)
def test_look_alikes_of_a_model(old: str, new: str) -> None:
    assert MODEL.count(old) == 1
    assert "CL101" not in codes(MODEL.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(self.count, self.windows)", "(self.count % self.windows, 0)", []),
        ("(self.count, self.windows)", "((self.count + 1) % self.windows, 0)", ["CL104"]),
        ("(self.count, self.windows)", "(self.count + 1, self.windows)", ["CL104"]),
    ],
)
def test_when_a_model_updates(old: str, new: str, expected: list[str]) -> None:
    found = codes(MODEL.replace(old, new))
    assert [code for code in found if code == "CL104"] == expected


WRAPPER = """\
import tensorflow as tf


class Accumulating(tf.keras.optimizers.Optimizer):
    def __init__(self, optimizer, windows=4, name="accumulating", **kwargs):
        super().__init__(name, **kwargs)
        self.inner = optimizer
        self.windows = windows
        self.count = tf.Variable(0, dtype=tf.int64, trainable=False)

    def apply_gradients(self, grads_and_vars, name=None, **kwargs):
        grads, variables = zip(*grads_and_vars)
        for total, grad in zip(self.totals, grads):
            total.assign_add(grad / self.windows)
        self.count.assign_add(1)
        tf.cond(
            tf.equal(self.count % self.windows, 0),
            lambda: self.update(variables),
            lambda: None,
        )

    def update(self, variables):
        self.inner.apply_gradients(zip(self.totals, variables))
        for total in self.totals:
            total.assign(tf.zeros_like(total))
"""
BEFORE = "        self.count.assign_add(1)\n"
TEST = "tf.equal(self.count % self.windows, 0)"
CALL = "        tf.cond(\n            {}"


def test_an_optimizer_around_another() -> None:
    assert codes(WRAPPER) == []
    assert codes(WRAPPER.replace("grad / self.windows", "grad")) == ["CL101"]


def test_a_counter_that_runs_behind() -> None:
    late = WRAPPER.replace(BEFORE, "").replace("        )\n\n", f"        )\n{BEFORE}\n")
    assert codes(late) == ["CL104"]
    assert lines(late, "CL104") == [f"{TEST},"]
    assert codes(late.replace("self.count %", "(self.count + 1) %")) == []
    other_start = late.replace("tf.Variable(0,", "tf.Variable(1,")
    assert codes(other_start) == []
    by_others = late.replace(BEFORE, "        self.tick()\n")
    assert codes(by_others) == []
    sometimes = late.replace(BEFORE, f"        if self.on:\n    {BEFORE}")
    assert codes(sometimes) == []


def test_a_counter_that_runs_ahead() -> None:
    ahead = WRAPPER.replace("self.count %", "(self.count + 1) %")
    assert codes(ahead) == ["CL104"]
    assert codes(ahead.replace("+ 1", "+ offset")) == []


CLIP = "        grads, _ = tf.clip_by_global_norm(grads, 1.0)\n"
UNZIP = "        grads, variables = zip(*grads_and_vars)\n"
APPLY = "        self.inner.apply_gradients(zip(self.totals, variables))\n"


def test_a_clip_before_the_sum() -> None:
    early = WRAPPER.replace(UNZIP, UNZIP + CLIP)
    assert codes(early) == ["CL303"]
    assert lines(early, "CL303") == [CLIP.strip()]
    late = WRAPPER.replace(
        APPLY,
        "        totals, _ = tf.clip_by_global_norm(self.totals, 1.0)\n"
        + APPLY.replace("self.totals", "totals"),
    )
    assert codes(late) == []
    unused = WRAPPER.replace(UNZIP, UNZIP + CLIP.replace("grads, _ =", "shown, _ ="))
    assert codes(unused) == []


LOOP = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
windows = 4
for epoch in range(3):
    totals = [tf.zeros_like(v) for v in model.trainable_variables]
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True)) / windows
        gradients = tape.gradient(loss, model.trainable_variables)
        totals = [t + g for t, g in zip(totals, gradients)]
        if (step + 1) % windows == 0:
            optimizer.apply_gradients(zip(totals, model.trainable_variables))
            totals = [tf.zeros_like(v) for v in model.trainable_variables]
"""


def test_a_loop_that_adds_up() -> None:
    assert "CL101" not in codes(LOOP)
    undivided = LOOP.replace(" / windows\n", "\n")
    assert "CL101" in codes(undivided)
    assert lines(undivided, "CL101") == ["totals = [t + g for t, g in zip(totals, gradients)]"]
    first = LOOP.replace("(step + 1) % windows", "step % windows")
    assert "CL104" in codes(first)
    assert "CL104" not in codes(LOOP)


@pytest.mark.parametrize(
    "added",
    [
        "totals = [tf.math.add(t, g) for t, g in zip(totals, gradients)]",
        "totals = list(map(tf.add, totals, gradients))\n        totals[0] += gradients[0]",
        "for i, g in enumerate(gradients):\n            totals[i] = totals[i] + g",
    ],
)
def test_ways_to_add(added: str) -> None:
    text = LOOP.replace("totals = [t + g for t, g in zip(totals, gradients)]", added)
    assert "CL101" in codes(text.replace(" / windows\n", "\n"))
    assert "CL101" not in codes(text)


@pytest.mark.parametrize(
    "added",
    [
        "totals = gradients",
        "totals = [0.9 * t + g for t, g in zip(totals, gradients)]",
        "totals = [t + g * g for t, g in zip(totals, gradients)]",
        "totals = [t + v for t, v in zip(totals, model.trainable_variables)]",
        "seen = [t + g for t, g in zip(seen, gradients)]",
    ],
)
def test_what_is_no_sum_of_gradients(added: str) -> None:
    text = LOOP.replace("totals = [t + g for t, g in zip(totals, gradients)]", added)
    assert codes(text.replace(" / windows\n", "\n")) == []


HELPER = """\
import tensorflow as tf


class Totals:
    def __init__(self):
        self._totals = []

    @property
    def gradients(self):
        return [total.value() for total in self._totals]

    def __call__(self, gradients):
        if not self._totals:
            self._totals.extend(tf.Variable(tf.zeros_like(g)) for g in gradients)
        for total, gradient in zip(self._totals, gradients):
            total.assign_add(gradient)

    def reset(self):
        for total in self._totals:
            total.assign(tf.zeros_like(total))


optimizer = tf.keras.optimizers.Adam(1e-3)
totals = Totals()
for step, (x, y) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    totals(tape.gradient(loss, model.trainable_variables))
    if (step + 1) % windows == 0:
        optimizer.apply_gradients(zip(totals.gradients, model.trainable_variables))
        totals.reset()
"""


def test_a_helper_class() -> None:
    assert lines(HELPER, "CL101") == ["totals(tape.gradient(loss, model.trainable_variables))"]
    assert codes(HELPER.replace("(model(x) - y))", "(model(x) - y)) / windows")) == []
    alone = HELPER.partition("\noptimizer")[0]
    assert codes(alone) == []
    other = HELPER.replace("zip(totals.gradients", "zip(others.gradients")
    assert codes(other) == []


def test_a_counter_that_the_update_advances_again() -> None:
    again = WRAPPER.replace(APPLY, f"{APPLY}        self.count.assign_add(1)\n")
    assert codes(again) == ["CL104"]
    assert lines(again, "CL104") == [f"{TEST},"]
    other = WRAPPER.replace(APPLY, f"{APPLY}        self.updates.assign_add(1)\n")
    assert codes(other) == []
    by_base = WRAPPER.replace("self.count", "self.iterations").replace(
        "self.inner.apply", "super().apply"
    )
    assert codes(by_base) == ["CL104"]
    assert codes(by_base.replace("super().apply", "self.inner.apply")) == []


UNSEEN = """\
import tensorflow as tf
from transformers import GradientAccumulator

optimizer = tf.keras.optimizers.Adam(1e-3)
accumulator = GradientAccumulator()
for step, (x, y) in enumerate(dataset):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    accumulator(tape.gradient(loss, model.trainable_variables))
    if (step + 1) % windows == 0:
        optimizer.apply_gradients(zip(accumulator.gradients, model.trainable_variables))
        accumulator.reset()
"""


def test_a_helper_class_of_a_library() -> None:
    assert lines(UNSEEN, "CL101") == ["accumulator(tape.gradient(loss, model.trainable_variables))"]
    assert codes(UNSEEN.replace("(model(x) - y))", "(model(x) - y)) / windows")) == []
    assert codes(UNSEEN.replace("zip(accumulator.grad", "zip(other.grad")) == []
    assert codes(UNSEEN.replace("accumulator(tape.gradient(loss", "show(tape.gradient(loss")) == []
    per_row = UNSEEN.replace("tf.reduce_mean(tf.square(model(x) - y))", "per_example_loss(x, y)")
    assert codes(per_row) == []


def test_decay_that_is_added_to_gradients() -> None:
    decay = "        for grad, variable in grads_and_vars:\n            grad += 0.1 * variable\n"
    text = WRAPPER.replace(UNZIP, decay + UNZIP).replace("zip(self.totals,", "zip(grads_and_vars,")
    assert codes(text) == []


CLEAR = "    totals = [tf.zeros_like(v) for v in model.trainable_variables]\n"
HEAD = "for epoch in range(3):\n"


def test_sums_that_leak_into_the_next_epoch() -> None:
    assert codes(LOOP) == []
    once = LOOP.replace(HEAD + CLEAR, CLEAR[4:] + HEAD)
    assert codes(once) == ["CL105"]
    variables = once.replace(
        "totals = [t + g for t, g in zip(totals, gradients)]",
        "for t, g in zip(totals, gradients):\n            t.assign_add(g)",
    )
    assert codes(variables) == ["CL105"]
    cleared = variables.replace(
        HEAD, f"{HEAD}    for t in totals:\n        t.assign(tf.zeros_like(t))\n"
    )
    assert codes(cleared) == []
    other = variables.replace(HEAD, f"{HEAD}    for w in weights:\n        w.assign(0.9 * w)\n")
    assert codes(other) == ["CL105"]
    single = once.replace(HEAD, "if True:\n")
    assert codes(single) == []


ROUNDS = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
for batch in dataset:
    totals = [tf.zeros_like(v) for v in model.trainable_variables]
    for _ in range(windows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(next(rows)))
        gradients = tape.gradient(loss, model.trainable_variables)
        totals = [t + g for t, g in zip(totals, gradients)]
    optimizer.apply_gradients(zip(totals, model.trainable_variables))
"""


def test_rounds_of_an_inner_loop() -> None:
    assert codes(ROUNDS) == ["CL101"]
    assert codes(ROUNDS.replace("model(next(rows)))", "model(next(rows))) / windows")) == []
    assert codes(ROUNDS.replace("range(windows)", "range(1)")) == []
    assert codes(ROUNDS.replace("range(windows)", "rows")) == []
    inside = ROUNDS.replace("    optimizer.apply", "        optimizer.apply")
    assert codes(inside) == []


def test_clips_of_differential_privacy() -> None:
    early = WRAPPER.replace(UNZIP, UNZIP + CLIP)
    assert codes(early) == ["CL303"]
    assert codes(early.replace("1.0)\n", "self.l2_norm_clip)\n", 1)) == []


def test_a_sum_that_is_applied_again() -> None:
    def again(text: str) -> list[str]:
        found = lint_sources([Source("train.py", text)])
        return [d.code for d in found if d.code == "CL111"]

    inside = ROUNDS.replace("    optimizer.apply", "        optimizer.apply")
    assert again(inside) == ["CL111"]
    assert again(ROUNDS) == []
    assert again(LOOP) == []
    clear = "        totals = [tf.zeros_like(v) for v in model.trainable_variables]\n"
    assert again(inside + clear) == []
    assert again(inside + "        totals.reset()\n") == []
    sometimes = inside.replace(
        "        optimizer.apply", "        if last:\n            optimizer.apply"
    )
    assert again(sometimes) == []
    plain = inside.replace("[t + g for t, g in zip(totals, gradients)]", "gradients")
    assert again(plain) == []
