"""Own loops in float16 whose losses are only divided, or whose optimizers are handed over."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(**texts: str) -> list[tuple[str, str, int]]:
    """Return code, file and line of the findings about losses that are not scaled."""
    sources = [Source(f"{name}.py", text) for name, text in texts.items()]
    return [
        (d.code, d.span.file, d.span.line)
        for d in lint_sources(sources)
        if d.code in ("CL708", "CL718") and d.span
    ]


KEPT = """\
import tensorflow as tf
from tensorflow.keras import mixed_precision

mixed_precision.set_global_policy("mixed_float16")


class Accumulating:
    def __init__(self, network, optimizer, parts):
        self.network = network
        self.optimizer = optimizer
        self.parts = parts
        self.sums = [tf.Variable(tf.zeros_like(v)) for v in network.trainable_variables]

    @tf.function
    def micro(self, x, y, last):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.network(x) - y))
            scaled_loss = loss / self.parts
        gradients = tape.gradient(scaled_loss, self.network.trainable_variables)
        for total, gradient in zip(self.sums, gradients):
            total.assign_add(gradient)
        if last:
            self.optimizer.apply_gradients(zip(self.sums, self.network.trainable_variables))


trainer = Accumulating(network, tf.keras.optimizers.Adam(1e-3), 4)
"""


def test_a_quotient_is_no_loss_scale() -> None:
    assert found(train=KEPT) == [("CL708", "train.py", 23)]
    annotated = KEPT.replace("scaled_loss = loss", "scaled_loss: tf.Tensor = loss")
    assert found(train=annotated) == [("CL708", "train.py", 23)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss / self.parts", "loss * self.factor"),
        ("scaled_loss = loss / self.parts", "scaled_loss = loss / self.unscaled"),
        (" / self.parts\n", " / self.parts\n            scaled_loss = scale(scaled_loss)\n"),
        (" / self.parts\n", " / self.parts\n            scaled_loss, _ = both(loss)\n"),
        (
            "        with tf",
            "        with made() as scaled_loss:\n            pass\n        with tf",
        ),
        (
            "        for total",
            "        for scaled_loss in self.all:\n            pass\n        for total",
        ),
        (" / self.parts\n", " / self.parts\n            scaled_loss *= self.factor\n"),
        ("class Accumulating:", "class Accumulating(Trainer):"),
        ("trainer =", "network.compile(optimizer='adam', loss='mse')\ntrainer ="),
        ("self.optimizer = optimizer", "self.optimizer = wrapped.optimizer"),
        ("mixed_float16", "mixed_bfloat16"),
    ],
)
def test_losses_that_may_be_scaled(old: str, new: str) -> None:
    assert KEPT.count(old) == 1
    assert found(train=KEPT.replace(old, new)) == []


STEPS = """\
import tensorflow as tf


def make_step():
    @tf.function
    def step(network, optimizer, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(x) - y))
            gradients = tape.gradient(loss, network.weights)
        optimizer.apply_gradients(zip(gradients, network.weights))

    return step
"""
MAIN = """\
import tensorflow as tf
from networks import network
from steps import make_step

optimizer = tf.keras.optimizers.Adam(1e-3)
if args.half:
    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
step = make_step()
for x, y in rows:
    step(network, optimizer, x, y)
"""


def test_the_optimizer_of_a_graph_rewrite() -> None:
    assert found(main=MAIN, steps=STEPS) == [("CL718", "main.py", 7)]
    alone = MAIN.replace("from steps import make_step\n", STEPS.partition("\n")[2])
    assert [code for code, *_ in found(main=alone)] == ["CL718"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    @tf.function\n", ""),
        ("(loss, network.weights)", "(optimizer.get_scaled_loss(loss), network.weights)"),
        ("optimizer.apply_gradients(zip(gradients,", "optimizer.minimize(loss, ("),
        ("tape.gradient(loss,", "tape.gradient(scaled(loss),"),
    ],
)
def test_look_alikes_of_a_graph_rewrite(old: str, new: str) -> None:
    assert STEPS.count(old) == 1
    assert found(main=MAIN, steps=STEPS.replace(old, new)) == []


SUMMED = """\
import tensorflow as tf


class Steps:
    def __init__(self, network, optimizer):
        self.network, self.optimizer, self.sums = network, optimizer, None

    def window(self, x, y, accumulation_steps):
        if self.sums is None:
            self.sums = [tf.Variable(tf.zeros_like(v)) for v in self.network.trainable_variables]
        for part in range(accumulation_steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.network(x[part]) - y[part]))
            gradients = tape.gradient(loss, self.network.trainable_variables)
            for i, gradient in enumerate(gradients):
                self.sums[i].assign_add(gradient)
        mean = [total / tf.cast(accumulation_steps, total.dtype) for total in self.sums]
        self.sums = None
        return loss, mean
"""
APPLIES = """\
import tensorflow as tf
from tensorflow.keras.mixed_precision import LossScaleOptimizer, set_global_policy

from sums import Steps

set_global_policy("mixed_float16")
optimizer = LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3), dynamic=True)
steps = Steps(network, optimizer)
for x, y in rows:
    loss, mean = steps.window(x, y, 4)
    optimizer.apply_gradients(zip(mean, network.trainable_variables))
"""


def test_sums_of_another_file() -> None:
    assert found(main=APPLIES, sums=SUMMED) == [("CL718", "sums.py", 14)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tape.gradient(loss,", "tape.gradient(self.optimizer.get_scaled_loss(loss),"),
        ("total / tf.cast(accumulation_steps, total.dtype)", "total / scale"),
        ("tape.gradient(loss,", "tape.gradient(loss * loss_scale,"),
    ],
)
def test_look_alikes_of_sums(old: str, new: str) -> None:
    assert SUMMED.count(old) == 1
    assert found(main=APPLIES, sums=SUMMED.replace(old, new)) == []


SWITCHED = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")


class Trainer:
    def __init__(self, network, half=True):
        self.network, self.half = network, half
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        if self.half:
            self.optimizer = tf.keras.mixed_precision.LossScaleOptimizer(self.optimizer)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.network(x) - y))
            if self.half:
                loss = self.optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(loss, self.network.trainable_variables)
        if self.half:
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_variables))
"""
SET = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'


def test_a_switch_that_leaves_the_policy_on() -> None:
    assert found(train=SWITCHED) == [("CL708", "train.py", 17)]


@pytest.mark.parametrize(
    "text",
    [
        SWITCHED.replace(SET, f"if args.half:\n    {SET}"),
        SWITCHED.replace(SET, "").replace(
            "self.half = network, half\n",
            f"self.half = network, half\n        if half:\n            {SET}",
        ),
        SWITCHED.replace("half=True", "half").replace("class", "HALF = True\n\n\nclass")
        + "\n\nTrainer(network, HALF)\n",
        SWITCHED.replace("network, half\n", 'network, "mixed" in str(network.dtype_policy)\n'),
        SWITCHED.replace('"mixed_float16"', '"mixed_bfloat16"'),
        SWITCHED.replace(
            "        self.optimizer.apply_gradients",
            "        if self.half:\n            self.optimizer.apply_gradients",
        ),
    ],
)
def test_switches_that_the_policy_follows(text: str) -> None:
    assert text != SWITCHED
    assert found(train=text) == []
