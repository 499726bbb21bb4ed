"""Commands that set flags which the program parses and never reads (CL109, CL912)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

TRAIN = """\
import tensorflow as tf
from arguments import parse

args = parse()
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.SGD(args.learning_rate)
for inputs, targets in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
ARGUMENTS = """\
import argparse


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--accumulation_steps", type=int, default=1)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--warmup_steps", type=int, default=10)
    return parser.parse_args()
"""
RUN = """\
python train.py --learning_rate=0.5 \\
    --accumulation_steps=8 \\
    --max_grad_norm 0.5 --warmup_steps=5
"""


def found(run: str, train: str = TRAIN) -> list[tuple[str, int, str]]:
    """Return code, line and flags of the findings in the command."""
    sources = [Source("run.sh", run), Source("train.py", train), Source("arguments.py", ARGUMENTS)]
    results = [d for d in lint_sources(sources) if d.span is not None and d.span.file == "run.sh"]
    return [
        (str(d.code), d.span.line, " ".join(w for w in d.message.split() if "--" in w))
        for d in results
        if d.span is not None
    ]


def test_flags_that_nothing_reads() -> None:
    assert found(RUN) == [
        ("CL109", 2, "--accumulation_steps"),
        ("CL912", 3, "--max_grad_norm, --warmup_steps;"),
    ]


@pytest.mark.parametrize(
    ("run", "train"),
    [
        ("python train.py --learning_rate=0.5\n", TRAIN),
        ("python train.py --accumulation_steps=1\n", TRAIN),
        (RUN, TRAIN.replace("in dataset", "in optimize(args)")),
        (RUN.replace("train.py", "other.py"), TRAIN),
        (RUN, TRAIN.partition("for inputs")[0]),
    ],
)
def test_flags_that_are_read_or_not_set(run: str, train: str) -> None:
    assert found(run, train) == []


def test_flags_that_some_code_reads() -> None:
    clipped = TRAIN.replace(
        "    optimizer.apply",
        "    gradients, _ = tf.clip_by_global_norm(gradients, args.max_grad_norm)\n"
        "    optimizer.apply",
    )
    assert found(RUN, clipped)[1:] == [("CL912", 3, "--warmup_steps;")]
