"""An optimizer that is made only because TensorFlow's graph rewrite asks for one trains nothing."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift

PROGRAM = """import tensorflow as tf


def switch_on():
    {unused}
    rewrite = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite
    {call}


def main(rows):
    switch_on()
    optimizer = tf.keras.optimizers.Adam(learning_rate=1e-3)
    for inputs, labels in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(inputs) - labels)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
SGD = "unused = tf.compat.v1.train.GradientDescentOptimizer(0.1)"


def lifted(unused: str, call: str) -> tuple[object, list[str]]:
    found = lift(analyse([Source("train.py", PROGRAM.format(unused=unused, call=call))]))
    return found.fields["optimizer.name"].value, [
        diagnostic.message for diagnostic in found.diagnostics
    ]


def test_it_is_not_lifted() -> None:
    name, messages = lifted(SGD, "rewrite(unused)")
    assert name == "adam"
    assert not any("train together" in message for message in messages), messages


@pytest.mark.parametrize(
    ("unused", "call"),
    [
        (SGD, "return rewrite(unused)"),
        (SGD, "wrapped = rewrite(unused)"),
        (SGD, "rewrite(unused); unused.minimize(loss)"),
        (f"{SGD}; other = unused", "rewrite(unused)"),
        (SGD, "print(unused)"),
    ],
)
def test_one_that_may_train_is(unused: str, call: str) -> None:
    _, messages = lifted(unused, call)
    assert any("2 optimizers train together" in message for message in messages), messages
