"""CL104 and CL110 for remainders that are a condition of their own: `if step % n:`."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, swap

END = "    if (step + 1) % steps == 0:\n"
ACCUMULATION = examples.ACCUMULATION
FLAG = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=DEFAULT)
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    "test",
    [
        "    if step % steps:\n",
        "    if (step + 1) % steps:\n",
        "    if step % steps != 0:\n",
        "    update = step % steps\n    if update:\n",
    ],
)
def test_a_remainder_that_nothing_is_compared_with(test: str) -> None:
    assert codes(swap(ACCUMULATION, (END, test))) == {"CL104"}


@pytest.mark.parametrize(
    ("default", "expected"), [(4, {"CL104"}), (1, {"CL104", "CL110"}), (2, set())]
)
def test_a_remainder_of_a_flag(default: int, expected: set[str]) -> None:
    loop = swap(
        ACCUMULATION, ("steps = 4", "steps = args.accumulate"), (END, "    if step % steps:\n")
    )
    assert codes(FLAG.replace("DEFAULT", str(default)) + loop) == expected


def test_the_summed_gradients_of_tapes() -> None:
    text = """\
import tensorflow as tf
from helpers import GradientAccumulator

N = 4


class Runner:
    def __init__(self, model, loss):
        self.model = model
        self.loss = loss
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.grad_accum = GradientAccumulator()

    def step(self, images, labels, update):
        with tf.GradientTape() as tape:
            value = self.loss(labels, self.model(images, training=True)) / N
        self.grad_accum(tape.gradient(value, self.model.trainable_variables))
        if update:
            pairs = zip(self.grad_accum.gradients, self.model.trainable_variables)
            self.optimizer.apply_gradients(pairs)
            self.grad_accum.reset()

    def train(self, data, epochs):
        for _ in range(epochs):
            for index, (images, labels) in enumerate(data):
                self.step(images, labels, UPDATE)
            self.grad_accum.reset()
"""
    assert codes(text.replace("UPDATE", "index % N")) == {"CL104"}
    assert "CL104" not in codes(text.replace("UPDATE", "(index + 1) % N == 0"))


def test_rounds_that_accumulate_nothing() -> None:
    plain = swap(
        examples.PLAIN, ("    optimizer.step()", "    if step % 10:\n        optimizer.step()")
    )
    assert codes(plain) == set()  # gradients are cleared in every round
    other = (
        "    if step % steps:\n        optimizer.step()\n        optimizer.zero_grad()\n    else:\n"
    )
    turns = swap(ACCUMULATION, ("optimizer.step()", "second.step()"), (END, other))
    assert "CL104" not in codes(turns)  # another optimizer has the other rounds


def test_a_window_of_two() -> None:
    two = swap(ACCUMULATION, ("steps = 4", "steps = 2"), (END, "    if step % steps:\n"))
    assert codes(two) == set()
