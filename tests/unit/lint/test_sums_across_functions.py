"""Sums of gradients that one function adds up and another applies, in a loop of a third."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources


def found(text: str) -> list[str]:
    """Return the lines at which a sum is said to be no mean."""
    results = lint_sources([Source("train.py", text)])
    spans = [d.span for d in results if d.code == "CL101" and d.span]
    return [text.splitlines()[span.line - 1].strip() for span in spans]


PARTS = """\
import tensorflow as tf
from transformers import GradientAccumulator


def loss_of(model, rows, labels, weights):
    each = weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(rows))
    count = tf.reduce_sum(weights) + 1e-5
    return tf.reduce_sum(each) / count


def add(model, accumulator, rows, labels, weights):
    with tf.GradientTape() as tape:
        loss = loss_of(model, rows, labels, weights)
    accumulator(tape.gradient(loss, model.trainable_variables))
    return loss


def update(model, optimizer, accumulator):
    pairs = zip(accumulator.gradients, model.trainable_variables)
    optimizer.apply_gradients(pairs)
    accumulator.reset()


def train_step(model, optimizer, accumulator, batch, micro_batches):
    shown = tf.constant(0.0)
    for i in range(micro_batches):
        loss = add(model, accumulator, batch["x"][i], batch["y"][i], batch["w"][i])
        shown += loss
    shown /= micro_batches
    update(model, optimizer, accumulator)
    return shown


def compile_functions():
    global train_step
    train_step = tf.function(train_step)


def main(args, model, dataset):
    accumulator = GradientAccumulator()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    for i, batch in enumerate(dataset):
        if i % args.log_every == 0:
            compile_functions()
        loss = train_step(model, optimizer, accumulator, batch, args.micro_batches)
    rows = args.batch_size * args.processes * args.micro_batches
    rate = (args.total_steps - rows) / float(args.cooldown_steps)
    print(rows, rate)
"""
SUM = "accumulator(tape.gradient(loss, model.trainable_variables))"
MEAN = "    return tf.reduce_sum(each) / count\n"


def test_a_sum_whose_loss_is_only_printed_as_a_mean() -> None:
    assert found(PARTS) == [SUM]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tape.gradient(loss,", "tape.gradient(loss / micro,"),
        ("    shown /= micro_batches\n", "    shown /= micro_batches\n    scale_down(1 / micro)\n"),
        (MEAN, "    return tf.reduce_sum(each) / (count * micro_batches)\n"),
        (MEAN, "    return tf.reduce_sum(each)\n"),
        (MEAN, "    return tf.reduce_sum(each) / batch_rows\n"),
        ("range(micro_batches)", "range(1)"),
        ("zip(accumulator.gradients,", "zip(accumulator.means(),"),
        ("        shown += loss\n", "        shown += loss\n        update(model, None, None)\n"),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    assert PARTS.count(old) == 1
    assert found(PARTS.replace(old, new)) == []


def test_a_mean_that_is_differentiated_behind_the_loop() -> None:
    text = PARTS.replace(
        "    update(model, optimizer, accumulator)\n    return shown\n",
        "    accumulator(tape.gradient(shown, model.trainable_variables))\n"
        "    update(model, optimizer, accumulator)\n    return shown\n",
    )
    assert found(text) == []
