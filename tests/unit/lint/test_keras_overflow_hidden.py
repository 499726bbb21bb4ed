"""Infinite gradients that become zeros before an optimizer for loss scaling sees them (CL723)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.loss_scaling.keras_overflow_hidden import RULE


def found(text: str) -> bool:
    return "CL723" in {d.code for d in lint_sources([Source("train.py", text)])}


WHERE = "tf.where(tf.math.is_finite(g), g, tf.zeros_like(g)) for g in gradients"
UNSCALED = "    gradients = optimizer.get_unscaled_gradients(gradients)\n"


def test_other_forms() -> None:
    assert found(RULE.wrong)
    assert found(RULE.wrong.replace("tf.zeros_like(g)", "0.0"))
    assert found(RULE.wrong.replace("for g in gradients", "for g in gradients if g is not None"))
    optional = "tf.where(tf.math.is_finite(g), g, tf.zeros_like(g)) if g is not None else g"
    assert found(RULE.wrong.replace(WHERE, f"{optional} for g in gradients"))
    clipped = "    gradients = [tf.clip_by_norm(g, 5.0) for g in gradients]\n    optimizer.apply"
    assert found(RULE.wrong.replace("    optimizer.apply", clipped))
    keras_3 = RULE.wrong.replace(UNSCALED, "").replace("get_scaled_loss", "scale_loss")
    assert found(keras_3)


def test_the_loss_decides() -> None:
    by_loss = RULE.wrong.replace("tf.math.is_finite(g)", "tf.math.is_finite(loss)")
    assert found(by_loss)
    flag = "    finite = tf.reduce_all(tf.math.is_finite(loss))\n    gradients = [\n"
    named = RULE.wrong.replace("tf.math.is_finite(g)", "finite").replace(
        "    gradients = [\n", flag
    )
    assert found(named)
    assert not found(named.replace("tf.reduce_all(", "tf.logical_not("))
    assert not found(named.replace("tf.math.is_finite(loss)", "loss < 100.0"))


@pytest.mark.parametrize("asked", ["inputs", "w", "model.trainable_variables[0]"])
def test_what_is_no_gradient_and_no_loss(asked: str) -> None:
    pairs = "g in gradients" if asked != "w" else "g, w in zip(gradients, weights)"
    other = WHERE.replace("is_finite(g)", f"is_finite({asked})").replace("g in gradients", pairs)
    assert WHERE in RULE.wrong
    assert not found(RULE.wrong.replace(WHERE, other))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.zeros_like(g)", "tf.ones_like(g)"),
        ("is_finite(g), g,", "is_finite(g), tf.zeros_like(g),"),
        ("is_finite(g)", "is_nan(g)"),
        ("    gradients = [\n", "    shown = [\n"),
        ("optimizer.get_scaled_loss(loss)", "loss"),
        ("Adam(1e-3))", "Adam(1e-3), dynamic=False, initial_scale=1024)"),
    ],
)
def test_gradients_that_stay_or_no_scale(old: str, new: str) -> None:
    text = RULE.wrong.replace(UNSCALED, "") if new == "loss" else RULE.wrong
    assert old in text
    assert not found(text.replace(old, new))
