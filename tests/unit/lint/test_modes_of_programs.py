"""Accumulation flags that only a non-default mode of the program reads."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import swap

MODES = """\
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="keras", choices=["keras", "own"])
parser.add_argument("--accumulation-steps", type=int, default=1)
args = parser.parse_args()
model.compile(optimizer, loss)
if args.mode == "keras":
    model.fit(rows)
else:
    steps = args.accumulation_steps
    sums = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
    for i, (x, y) in enumerate(rows):
        with tf.GradientTape() as tape:
            error = loss(y, model(x)) / steps
        for total, g in zip(sums, tape.gradient(error, model.trainable_variables)):
            total.assign_add(g)
        if (i + 1) % steps == 0:
            optimizer.apply_gradients(zip(sums, model.trainable_variables))
            for total in sums:
                total.assign(tf.zeros_like(total))
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (('default="keras"', 'default="keras"'), True),
        (('default="keras"', 'default="own"'), False),
        (('default="keras"', "required=True"), False),
        (("    model.fit(rows)", "    model.evaluate(rows)"), False),
        (("    model.fit(rows)", "    model.fit(group(rows, args.accumulation_steps))"), False),
        (("    steps = args.accumulation_steps", "    steps = 4"), False),
    ],
)
def test_a_flag_of_another_mode(change: tuple[str, str], found: bool) -> None:
    result = lint_sources([Source("train.py", swap(MODES, change))])
    assert ("CL109" in {d.code for d in result if d.span and d.span.line == 7}) is found
