"""Graph rewrites in programs that run no graph (CL719)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_tensorflow.rules.keras.tf_rewrite_eager import RULE


def found(text: str) -> bool:
    return "CL719" in {d.code for d in lint_sources([Source("train.py", text)])}


STEP = "    train_step(inputs, targets)\n"


def test_other_eager_loops() -> None:
    assert found(RULE.wrong)
    rewritten = RULE.wrong.replace(
        'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})\n', ""
    ).replace("mixed_precision.LossScaleOptimizer(", "optimizers.wrap(")
    rewritten = rewritten.replace(
        "tf.keras.optimizers.wrap(tf.keras.optimizers.Adam(1e-3))",
        "tf.train.experimental.enable_mixed_precision_graph_rewrite(tf.keras.optimizers.Adam())",
    )
    assert found(rewritten)


def test_a_graph_of_something_else() -> None:
    rate = "@tf.function\ndef rate(step):\n    return 1e-3 / step\n\n\n"
    assert found(RULE.wrong.replace("def train_step", f"{rate}def train_step"))
    epoch = "@tf.function\ndef epoch():\n    for i, t in dataset:\n        train_step(i, t)\n\n\n"
    assert not found(RULE.wrong.replace("for inputs,", f"{epoch}for inputs,"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for inputs,", "train_step = tf.function(train_step)\nfor inputs,"),
        ("def train_step", "@compiled\ndef train_step"),
        (STEP, "    strategy.run(train_step, args=(inputs, targets))\n"),
        (STEP, f"{STEP}model.compile('adam')\nmodel.fit(dataset)\n"),
        ("for inputs, targets in dataset:\n", "if inputs is not None:\n"),
        ("import tensorflow as tf\n", "import tensorflow as tf\nfrom jax import jit\n"),
        ('{"auto_mixed_precision": True}', '{"auto_mixed_precision": False}'),
        ("    with tf.GradientTape() as tape:\n", "    if True:\n"),
    ],
)
def test_programs_that_may_run_graphs(old: str, new: str) -> None:
    assert RULE.wrong.count(old) == 1
    assert not found(RULE.wrong.replace(old, new))
