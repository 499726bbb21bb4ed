"""Losses of Keras and TensorFlow that are not scaled although they run in float16."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.answers.keras import LOOP
from crosscast_tensorflow.rules.loss_scaling.tf_half_not_scaled import RULE

WATCHED = ("CL708", "CL709", "CL711", "CL717")
SCALED = "        scaled = optimizer.get_scaled_loss(loss)\n"
UNSCALED = "    gradients = optimizer.get_unscaled_gradients(gradients)\n"


def codes(text: str) -> list[str]:
    found = lint_sources([Source("train.py", text)])
    return sorted({d.code for d in found if d.code in WATCHED})


def test_a_wrapper_that_scales_nothing() -> None:
    plain = LOOP.replace(SCALED, "").replace("(scaled", "(loss").replace(UNSCALED, "")
    assert "LossScaleOptimizer" in plain
    assert codes(plain) == ["CL708"]
    assert codes(plain.replace("mixed_float16", "mixed_bfloat16")) == []
    minimized = plain.replace(
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n",
        "    optimizer.minimize(loss, model.trainable_variables, tape=tape)\n",
    )
    assert codes(minimized) == []
    modern = plain.replace("tape.gradient(loss,", "tape.gradient(optimizer.scale_loss(loss),")
    assert codes(modern) == []
    by_hand = plain.replace("tape.gradient(loss,", "tape.gradient(loss * loss_scale,")
    assert codes(by_hand) == []


MODEL = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")


class Classifier(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


model = Classifier()
model.compile("adam", loss="mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL708"]),
        ("tf.keras.Model)", "Trainer)", []),
        ("def train_step", "def step", []),
        ("mixed_float16", "float32", []),
        (
            "        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))\n",
            "        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)\n",
            [],
        ),
        ("tape.gradient(loss,", "tape.gradient(self.optimizer.scale_loss(loss),", []),
    ],
)
def test_the_step_of_a_model(old: str, new: str, expected: list[str]) -> None:
    assert codes(MODEL.replace(old, new) if old else MODEL) == expected


def test_a_scaled_loss_that_is_not_differentiated() -> None:
    assert codes(LOOP) == []
    assert codes(LOOP.replace("tape.gradient(scaled", "tape.gradient(loss")) == ["CL709"]
    sometimes = LOOP.replace(
        SCALED, f"        if half:\n    {SCALED}        else:\n            scaled = loss\n"
    )
    assert codes(sometimes) == []
    renamed = LOOP.replace(SCALED, f"{SCALED}        other = scaled\n").replace(
        "gradient(scaled", "gradient(other"
    )
    assert codes(renamed) == []
    by_name = LOOP.replace("gradient(scaled,", "gradient(target=scaled, sources=")
    assert codes(by_name) == []


def test_unscaled_gradients_that_are_not_applied() -> None:
    lost = LOOP.replace(UNSCALED, UNSCALED.replace("gradients =", "unscaled ="))
    assert codes(lost) == ["CL709"]
    summed = lost.replace("zip(gradients,", "zip(totals(unscaled),")
    assert codes(summed) == []
    elsewhere = lost.replace("zip(gradients,", "zip(self.totals,")
    assert codes(elsewhere) == []


LATE = """\
import tensorflow as tf


def build():
    inputs = tf.keras.layers.Input((32,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))


model = build()
model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="mse")
tf.keras.mixed_precision.set_global_policy("mixed_float16")
model.fit(data)
"""
SET = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'


def test_a_policy_behind_the_function_that_builds() -> None:
    assert codes(LATE) == ["CL711"]
    first = LATE.replace(SET, "").replace("model = build()", f"{SET}model = build()")
    assert codes(first) == []
    again = LATE.replace(SET, f"{SET}model = build()\n")
    assert codes(again) == []
    nothing = LATE.replace("model = build()", "model = load(path)")
    assert codes(nothing) == []
    inside = LATE.replace(SET, "").replace("    inputs", f"    {SET}    inputs", 1)
    assert codes(inside) == []
    twice = LATE.replace(SET, "").replace("    return", f"    {SET}    return") + "build()\n"
    assert codes(twice) == []


GETTER = RULE.wrong


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL717"]),
        ("tf.float16", "tf.float32", []),
        ("tf.float16", "tf.bfloat16", []),
        ("custom_getter=storage_in_float32", "custom_getter=averages.getter", []),
        (
            "custom_getter=storage_in_float32",
            "custom_getter=float32_variable_storage_getter",
            ["CL717"],
        ),
        ("optimizer.compute_gradients(loss)", "optimizer.compute_gradients(loss * loss_scale)", []),
        ("tf.cast(variable, dtype)", "tf.identity(variable)", []),
        ("    stored = tf.float32 if trainable", "    stored = dtype if trainable", ["CL717"]),
    ],
)
def test_getters_of_half_variables(old: str, new: str, expected: list[str]) -> None:
    assert old in GETTER
    assert codes(GETTER.replace(old, new) if old else GETTER) == expected


def test_a_getter_without_training() -> None:
    text = GETTER.partition("    optimizer =")[0] + "    return tf.train.Saver(logits)\n"
    assert codes(text) == []


FLOATX = """\
import tensorflow as tf

tf.keras.backend.set_floatx("float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("adam", loss="mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL717"]),
        ('"float16"', '"float32"', []),
        ('"float16"', '"bfloat16"', []),
        ("tf.keras.backend.set_floatx", "if half:\n    tf.keras.backend.set_floatx", []),
        ("model.fit(x, y)", "model.predict(x)", []),
    ],
)
def test_half_layers_without_a_policy(old: str, new: str, expected: list[str]) -> None:
    assert codes(FLOATX.replace(old, new) if old else FLOATX) == expected


TESTED = """\
import tensorflow as tf


def make_update(loss, rate, step, use_fp16=False):
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    pairs = optimizer.compute_gradients(loss)
    gradients, variables = zip(*pairs)
    if use_fp16:
        ready = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g in gradients])
    else:
        ready = tf.constant(True)
    gradients, _ = tf.clip_by_global_norm(gradients, tf.cond(ready, lambda: 1.0, lambda: 0.0))
    return optimizer.apply_gradients(zip(gradients, variables), global_step=step)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL717"]),
        ("    if use_fp16:", "    if careful:", []),
        ("    if use_fp16:", "    if not use_fp16:", []),
        ("tf.is_finite(g)) for g in gradients", "tf.is_finite(w)) for w in weights", []),
        ("compute_gradients(loss)", "compute_gradients(loss * loss_scale)", []),
        ("optimizer = tf.train.MomentumOptimizer(rate, 0.9)", "optimizer = rate.optimizer", []),
        ("optimizer.apply_gradients(zip(gradients, variables), global_step=step)", "gradients", []),
    ],
)
def test_gradients_that_are_tested_with_float16(old: str, new: str, expected: list[str]) -> None:
    assert old in TESTED
    assert codes(TESTED.replace(old, new) if old else TESTED) == expected


COMPILED = """\
import tensorflow as tf

from networks import build_network


def run(config, rows):
    network = build_network(config)
    network.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="mse")
    if config.half:
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
    network.fit(rows, epochs=config.epochs)
    network.load_weights(config.best)
"""
HALF = '        tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL711"]),
        ("    if config.half:\n", "    with config.log:\n", ["CL711"]),
        ("    if config.half:\n", "    for config in configs:\n", []),
        ("    network.fit", "    network = build_network(config)\n    network.fit", []),
        ("    network.fit", "    network.compile('adam', loss='mse')\n    network.fit", []),
        ("    network.fit", "    other.fit(rows)\n    network.fit", []),
        ("    network.fit", "    warm_up(config)\n    network.fit", []),
        ("network.compile", "network.prepare", []),
        (
            "    network = build_network",
            f"    if config.half:\n{HALF}    network = build_network",
            [],
        ),
        ('"mixed_float16"', '"float32"', []),
    ],
)
def test_a_policy_behind_a_compiled_model(old: str, new: str, expected: list[str]) -> None:
    assert old in COMPILED
    assert codes(COMPILED.replace(old, new) if old else COMPILED) == expected


TAPED = """\
import tensorflow as tf

from networks import Network


def run(config, rows):
    network = Network(config)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    if config.half:
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    for x, y in rows:
        with tf.GradientTape() as tape:
            loss = optimizer.get_scaled_loss(tf.reduce_mean(tf.square(network(x) - y)))
        gradients = tape.gradient(loss, network.trainable_weights)
        gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, network.trainable_weights))
"""
MAKES = "    network = Network(config)\n"
ADAM = "    optimizer = tf.keras.optimizers.Adam(1e-3)\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["CL711"]),
        (MAKES, "    network = build(config)\n", ["CL711"]),
        ("for x, y in rows", "for x, y in tf.nest.flatten(rows)", ["CL711"]),
        (MAKES + ADAM, ADAM, []),
        ("    for x, y", f"{MAKES}    for x, y", []),
        ("    for x, y", "    network = wrap(network)\n    for x, y", []),
        ("from networks import Network\n", "from networks import network\n", ["CL711"]),
        ("(loss, network.trainable_weights)", "(loss, weights)", []),
        ("def run(config, rows):\n", "def run(config, rows, network):\n", []),
        ("Network(config)\n", "Network(config, dtype=config.dtype)\n", []),
        ("    for x, y", "    Trainer(Network(config)).run()\n    for x, y", []),
        ("    for x, y", "    network.fit(rows)\n    for x, y", []),
        ("(loss, network.train", "(loss, network.encoder.train", []),
    ],
)
def test_a_policy_behind_the_model_of_a_tape(old: str, new: str, expected: list[str]) -> None:
    assert old in TAPED
    text = TAPED.replace(old, new) if old else TAPED
    if "import network\n" in new or "rows, network" in new:
        text = text.replace(MAKES, "")
    assert codes(text) == expected
