"""CM202: loops that keep unscaled gradients, optimizers in other hands, fixed scales."""

from __future__ import annotations

import pytest

from unit.migrate.keras_loops import APPLY, NEW, UNSCALE, carried, changed, loop
from unit.migrate.keras_migrations import after, refused


@pytest.mark.parametrize(
    ("old", "new", "then"),
    [
        ("    return loss", "    return loss, grads", ("", "")),
        ("    return loss", "    return opt.loss_scale", ("opt.loss_scale", "opt.scale_loss(1.0)")),
        ("    return loss", "    return opt.loss_scale()", ("loss_scale()", "scale_loss(1.0)")),
        ("grads = opt.get_un", "kept.grads = opt.get_un", ("", "")),
        ("        scaled = opt", "        if big:\n            scaled = opt", ("", "")),
        (
            APPLY,
            APPLY.replace("))\n", "), experimental_aggregate_gradients=False)\n"),
            (", experimental_aggregate_gradients=False", ""),
        ),
    ],
)
def test_whatever_happens_to_unscaled_gradients(old: str, new: str, then: tuple[str, str]) -> None:
    text = (
        changed(old, new)
        if "loss_scale" not in new
        else changed(UNSCALE, f"{UNSCALE}    log(grads)\n").replace(old, new)
    )
    wanted = carried(text)
    assert after(text, "CM202") == (wanted.replace(*then) if then[0] else wanted)


def test_an_optimizer_that_is_tested_for_its_methods() -> None:
    text = changed(
        "        scaled = opt.get_scaled_loss(loss)",
        "        scaled = opt.get_scaled_loss(loss) if hasattr(opt, 'get_scaled_loss') else loss",
    ).replace(
        UNSCALE,
        "    if hasattr(opt, 'get_unscaled_gradients'):\n    " + UNSCALE,
    )
    found = after(text, "CM202")
    assert found.count('hasattr(opt, "scale_loss")') == 2
    assert "multiply_by_loss_scale(opt, grads)" in found


WRAPPER = """\
import tensorflow as tf

class Optimizer:
    def __init__(self, half):
        self.opt = tf.keras.optimizers.Adam(1e-3)
        if half:
            self.opt = tf.keras.mixed_precision.LossScaleOptimizer(self.opt)

    def get_scaled_loss(self, loss):
        return self.opt.get_scaled_loss(loss)

    def update(self, tape, scaled, model):
        grads = tape.gradient(scaled, model.trainable_variables)
        grads = self.opt.get_unscaled_gradients(grads)
        self.opt.apply_gradients(zip(grads, model.trainable_variables))

class Training:
    def __init__(self, model, made):
        self.model, self.made = model, made

    {decorated}
    def train(self, x):
        with tf.GradientTape() as tape:
            loss = self.loss(x)
            scaled = self.made.get_scaled_loss(loss)
        self.made.update(tape, scaled, self.model)

    def loss(self, x):
        return tf.reduce_mean(self.model(x) ** 2)
"""


def test_a_class_around_the_optimizer_keeps_its_methods() -> None:
    found = after(WRAPPER.replace("{decorated}", "@tf.function"), "CM202")
    assert "return self.opt.scale_loss(loss)" in found
    assert "grads = divide_by_loss_scale(self.opt, grads)" in found
    assert "(zip(multiply_by_loss_scale(self.opt, grads), model." in found
    assert "scaled = self.made.get_scaled_loss(loss)" in found


def test_a_graph_that_would_keep_the_first_scale() -> None:
    text = WRAPPER.replace("{decorated}", "").replace(
        "    def get_scaled_loss", "    @tf.function\n    def get_scaled_loss"
    )
    assert "would keep the first one" in refused(text, "CM202")


def test_a_fixed_scale_in_a_loop() -> None:
    text = loop(
        made="opt = tf.keras.optimizers.SGD(0.1)\n"
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(opt, dynamic=False, "
        "initial_scale=128.0)\n"
    )
    new = after(text, "CM202")
    assert new == loop(NEW, "opt = tf.keras.optimizers.SGD(0.1, loss_scale_factor=128.0)\n")


@pytest.mark.parametrize(
    "made",
    [
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(make(), dynamic=False, "
        "initial_scale=8)\n",
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(), "
        "dynamic=False, initial_scale=scale)\n",
        "opt = tf.keras.optimizers.SGD()\nif amp:\n    opt = tf.keras.mixed_precision."
        "LossScaleOptimizer(opt, dynamic=False, initial_scale=8)\n",
    ],
)
def test_a_fixed_scale_without_a_certain_place(made: str) -> None:
    assert refused(loop(made=made), "CM202")
    alone = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(), "
    assert refused(f"import tensorflow as tf\n{alone}dynamic=False, initial_scale=8)\n", "CM202")
