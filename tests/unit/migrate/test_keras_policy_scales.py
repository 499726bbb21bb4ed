"""CM201: programs that read the loss scale of a policy."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused

READ = """\
import tensorflow as tf
from tensorflow.keras.mixed_precision import experimental as mp

policy = mp.Policy("mixed_float16"{given})
mp.set_policy(policy)
print(policy.loss_scale{how})
{rest}"""


@pytest.mark.parametrize(
    ("given", "how", "new"),
    [
        ("", "._current_loss_scale", "tf.constant(2.0**15)"),
        ("", "()", "tf.constant(2.0**15)"),
    ],
)
def test_the_scale_that_no_optimizer_used(given: str, how: str, new: str) -> None:
    assert f"print({new})" in after(READ.format(given=given, how=how, rest=""), "CM201")


@pytest.mark.parametrize(
    ("how", "rest"),
    [
        ("", ""),
        ("()", 'model.compile("sgd", "mse")\n'),
        ("()", "opt = mp.LossScaleOptimizer(opt, policy.loss_scale)\n"),
    ],
)
def test_a_scale_that_moves_is_not_replaced(how: str, rest: str) -> None:
    text = READ.format(given="", how=how, rest=rest)
    assert "have no loss scale to read" in refused(text, "CM201")
