"""Wrapped optimizers of TensorFlow that never see the loss they should scale."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def lines(text: str) -> list[int]:
    """Return the lines at which CL718 is found."""
    found = lint_sources([Source("train.py", text)])
    return [d.span.line for d in found if d.code == "CL718" and d.span]


GRAPH = """\
import tensorflow as tf


def make(rate, half):
    optimizer = tf.compat.v1.train.MomentumOptimizer(rate, 0.9)
    if half:
        scale = tf.compat.v1.train.experimental.DynamicLossScale(increment_period=100)
        optimizer = tf.compat.v1.train.experimental.MixedPrecisionLossScaleOptimizer(
            optimizer, scale
        )
    return optimizer


def train_op(loss, rate, half):
    variables = tf.compat.v1.trainable_variables()
    gradients = tf.gradients(ys=0.5 * loss, xs=variables)
    optimizer = make(rate, half)
    return optimizer.apply_gradients(zip(gradients, variables))
"""


def test_a_wrapper_of_graphs() -> None:
    assert lines(GRAPH) == [18]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "    gradients = tf.gradients(ys=0.5 * loss, xs=variables)\n",
            "    gradients, _ = zip(*make(rate, half).compute_gradients(loss, variables))\n",
        ),
        ("optimizer.apply_gradients(zip(gradients, variables))", "optimizer.minimize(loss)"),
        ("zip(gradients, variables)", "zip([g / 128.0 for g in gradients], variables)"),
        ("ys=0.5 * loss", "ys=loss * loss_scale"),
        ("ys=0.5 * loss", "ys=scaled(loss)"),
        ("MixedPrecisionLossScaleOptimizer", "AveragingOptimizer"),
        ("    if half:\n", "    with tf.device('bfloat16'):\n"),
    ],
)
def test_look_alikes_of_graphs(old: str, new: str) -> None:
    assert GRAPH.count(old) == 1
    assert lines(GRAPH.replace(old, new)) == []


TRAINER = """\
import tensorflow as tf
from tensorflow.keras import mixed_precision


class Trainer:
    def __init__(self, scaling, loss_fn):
        self.scaling = scaling
        self.loss_fn = loss_fn
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        if scaling:
            self.optimizer = mixed_precision.LossScaleOptimizer(self.optimizer)

    def fit(self, model, rows):
        if self.scaling:

            @tf.function
            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = self.loss_fn(y, model(x))
                    scaled = self.optimizer.get_scaled_loss(loss)
                gradients = tape.gradient(scaled, model.trainable_variables)
                gradients = self.optimizer.get_unscaled_gradients(gradients)
                self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        else:

            @tf.function
            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = self.loss_fn(y, model(x))
                gradients = tape.gradient(loss, model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        for x, y in rows:
            step(x, y)

    def fit_on_replicas(self, model, rows):
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = self.loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        for x, y in rows:
            self.strategy.run(step, args=(x, y))
"""


def test_one_of_several_loops() -> None:
    assert lines(TRAINER) == [42]
    other = TRAINER.replace("            self.optimizer = mixed", "            self.other = mixed")
    assert lines(other) == []
    guarded = TRAINER.replace(
        "    def fit_on_replicas(self, model, rows):\n",
        "    def fit_on_replicas(self, model, rows):\n        assert not self.scaling\n",
    )
    assert lines(guarded) == []


SWITCHED = """\
import tensorflow as tf


def train(model, optimizer, rows, half=False):
    @tf.function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = criterion(targets, model(inputs))
            if half:
                loss = optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        if half:
            gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for inputs, targets in rows:
        step(inputs, targets)


tf.keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
train(network, optimizer, rows)
"""


def test_a_switch_that_no_caller_sets() -> None:
    assert lines(SWITCHED) == [10]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("optimizer, rows)\n", "optimizer, rows, True)\n"),
        ("optimizer, rows)\n", "optimizer, rows, half=args.half)\n"),
        ("optimizer, rows)\n", "optimizer, rows, **options)\n"),
        ("half=False", "half=True"),
        ("half=False", "half"),
        ("train(network, optimizer, rows)\n", ""),
        ("train(network, optimizer, rows)\n", "train(a, b, rows)\nrun(train, half=True)\n"),
        ("    @tf.function\n", "    half = half or asks_for_half()\n\n    @tf.function\n"),
        ("LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))", "make()"),
    ],
)
def test_switches_that_may_be_on(old: str, new: str) -> None:
    assert SWITCHED.count(old) == 1
    assert lines(SWITCHED.replace(old, new)) == []


APPLIED = """\
import tensorflow as tf

optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))


@tf.function
def apply(optimizer, gradients, model):
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def train(model, rows):
    for inputs, targets in rows:
        with tf.GradientTape() as tape:
            loss = criterion(targets, model(inputs))
        gradients = tape.gradient(loss, model.trainable_variables)
        apply(optimizer, gradients, model)


train(network, rows)
"""


def test_an_update_in_a_function_of_its_own() -> None:
    assert lines(APPLIED) == [15]


BRANCHED = """\
import tensorflow as tf
from tensorflow.keras import mixed_precision

optimizer = tf.keras.optimizers.Adam(1e-3)
if args.rtx:
    optimizer = mixed_precision.LossScaleOptimizer(optimizer)
for x, y in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
        if args.rtx:
            scaled = optimizer.get_scaled_loss(loss)
    if args.rtx:
        parts = tape.gradient(scaled, model.trainable_variables)
        gradients = optimizer.get_unscaled_gradients(parts)
    else:
        gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        ("if args.rtx:\n    optimizer", "if args.other:\n    optimizer", [17]),
        ("if args.rtx:\n    optimizer = mixed", "if True:\n    optimizer = mixed", [17]),
    ],
)
def test_a_branch_without_a_wrapper(old: str, new: str, found: list[int]) -> None:
    assert lines(BRANCHED.replace(old, new) if old else BRANCHED) == found


HANDED = """\
import re

import tensorflow as tf
from tensorflow.keras.mixed_precision import LossScaleOptimizer


def make():
    gen_optimizer = LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3), dynamic=True)
    return gen_optimizer


class Steps:
    def __init__(self, gen, gen_optimizer):
        self.gen, self.gen_optimizer = gen, gen_optimizer

    def gradients(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.gen(x) - y))
            return tape.gradient(loss, self.gen.trainable_variables)

    def apply(self, gradients):
        self.gen_optimizer.apply_gradients(zip(gradients, self.gen.trainable_variables))
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", [19]),
        ("self.gen_optimizer.apply", "self.dis_optimizer.apply", []),
        ("tape.gradient(loss,", "tape.gradient(self.gen_optimizer.get_scaled_loss(loss),", []),
        ("tape.gradient(loss,", "tape.gradient(loss * self.scale,", []),
        ("LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3), dynamic=True)", "ours.make()", []),
        ("    return gen_opt", "    model.compile(gen_optimizer)\n    return gen_opt", []),
        ("    return gen_opt", "    re.compile('gen')\n    return gen_opt", [20]),
        (
            "class Steps",
            "def plain():\n    gen_optimizer = tf.keras.optimizers.Adam(1e-3)\n\n\nclass Steps",
            [],
        ),
        ("    gen_optimizer = Loss", "    return Loss", []),
    ],
)
def test_a_wrapper_that_a_caller_hands_over(old: str, new: str, found: list[int]) -> None:
    assert lines(HANDED.replace(old, new) if old else HANDED) == found
