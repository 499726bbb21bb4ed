"""What programs show of optimizers, strategies and scalers that other files make."""

from __future__ import annotations

import pytest

from program_facts import facts, values_of

STEP = """
import tensorflow as tf


class Trainer:
    def __init__(self, network, optimizer):
        self.network, self.optimizer = network, optimizer

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.network(x) - y))
        gradients = tape.gradient(loss, self.network.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_variables){given})
{more}
"""


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (", clip_norm=0.5", 0.5),
        (", 1.0", 1.0),
        (", self.step", None),
        (", 7", None),
        (", clip_norm=None", None),
        ("", None),
    ],
)
def test_a_limit_that_an_optimizer_gets(given: str, limit: float | None) -> None:
    found = values_of(STEP.format(given=given, more=""))
    assert found.get("clipping.value") == limit
    assert ("clipping.per" in found) is (limit is not None)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("        return self.optimizer.learning_rate(self.optimizer.iterations)", True),
        ("        return self.optimizer.lr(step=1)", True),
        ("        return self.optimizer.learning_rate", False),
        ("        return self.finder.lr(x)", False),
        ("        return self.optimizer.learning_rate.numpy()", False),
    ],
)
def test_a_rate_that_is_asked_for_a_step(more: str, told: bool) -> None:
    found = values_of(STEP.format(given="", more=more))
    assert ("schedule.name" in found) is told
    assert found.get("schedule.stepped_per") == ("step" if told else None)


def test_replicas_of_a_strategy_that_another_file_makes() -> None:
    more = "        context = tf.distribute.get_replica_context()"
    text = STEP.format(given="", more=more)
    assert values_of(text)["parallel.kind"] == ("caller",)
    kinds = [fact.confidence for fact in facts(text) if fact.field == "parallel.kind"]
    assert kinds == ["guess"]  # without a strategy, there is such a context as well
    own = more + "\n\n\nstrategy = tf.distribute.MirroredStrategy()"
    assert values_of(STEP.format(given="", more=own))["parallel.kind"] == ("mirrored",)


def test_a_wrapper_tells_more_than_the_variable() -> None:
    text = """
import os
import tensorflow as tf

os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
"""
    assert values_of(text)["loss_scaling.mode"] == "framework_default"
    alone = text.replace("tf.train.experimental.enable_mixed_precision_graph_rewrite", "ours.wrap")
    assert values_of(alone)["loss_scaling.mode"] == "env_default"
