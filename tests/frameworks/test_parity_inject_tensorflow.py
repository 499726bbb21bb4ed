"""Faults reach a loss that TensorFlow has traced into a graph, and only the named one."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.runner_runs import start_runner
from tiers import cases

SCRIPT = """
import sys
from types import SimpleNamespace

import tensorflow as tf


def micro_batch_loss(batch):
    return tf.reduce_mean(batch * batch)


def make_step():
    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            tape.watch(batch)
            loss = micro_batch_loss(batch)
        return loss, tape.gradient(loss, batch)

    return step


def train_window(state, micro_batches, step):
    losses = [step(batch) for batch in micro_batches]
    state.windows += 1
    return [(float(loss), float(gradient[0])) for loss, gradient in losses]


def main(argv=None):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    state, step = SimpleNamespace(windows=0), make_step()
    for _ in range(3):
        print(train_window(state, [tf.constant([2.0]), tf.constant([3.0])], step))
    print(step.experimental_get_tracing_count())
    return 0
"""

ONE_CALL = (
    SCRIPT.replace(
        """    losses = [step(batch) for batch in micro_batches]
""",
        """    losses = whole(step, tf.stack(list(micro_batches)))
""",
    )
    .replace(
        """def train_window""",
        """@tf.function
def whole(step, stacked):
    losses = tf.TensorArray(tf.float32, 2, element_shape=())
    gradients = tf.TensorArray(tf.float32, 2, element_shape=(1,))
    for i in tf.range(2):
        loss, gradient = step(stacked[i])
        losses, gradients = losses.write(i, loss), gradients.write(i, gradient)
    return losses.stack(), gradients.stack()


def train_window""",
        1,
    )
    .replace("for loss, gradient in losses]", "for loss, gradient in zip(*losses)]")
)
"""A window is one call: Python has seen all its micro-batches before the first loss."""


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "text",
    cases([SCRIPT, ONE_CALL], quick=[ONE_CALL], reason="a call for every micro-batch"),
    ids=["calls", "one call"],
)
def test_factor_reaches_a_traced_loss(tmp_path: Path, text: str) -> None:
    assert ONE_CALL.count("whole(") == 2
    script = tmp_path / "train.py"
    script.write_text(text)
    done = start_runner("tensorflow", script, ["--fault", "1:1=inf"])
    assert done.returncode == 0, done.stderr[-2000:]
    clean = "[(4.0, 4.0), (9.0, 6.0)]"
    assert done.stdout.splitlines() == [clean, "[(4.0, 4.0), (inf, inf)]", clean, "1"]
