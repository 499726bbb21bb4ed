"""CM205: DistributedOptimizer of Horovod and BytePS."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

HEAD = """\
import tensorflow as tf
import {package} as hvd
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
"""


def wrapped(arguments: str = "opt", package: str = "horovod.tensorflow.keras") -> str:
    made = f"opt = hvd.DistributedOptimizer({arguments})\nmodel.compile(opt, loss='mse')\n"
    return HEAD.replace("{package}", package) + made


@pytest.mark.parametrize(
    ("package", "average"),
    [
        ("horovod.tensorflow.keras", "allreduce"),
        ("horovod.tensorflow", "allreduce"),
        ("horovod.keras", "allreduce"),
        ("byteps.tensorflow.keras", "push_pull"),
    ],
)
def test_a_wrapper(package: str, average: str) -> None:
    found = after(wrapped(package=package), "CM205")
    assert f"opt = averaging_optimizer(opt, hvd.{average})" in found
    assert "def averaging_optimizer(optimizer, average):" in found


@pytest.mark.parametrize(
    ("arguments", "average"),
    [
        ("opt, backward_passes_per_step=1, average_aggregated_gradients=True", "hvd.allreduce"),
        ("optimizer=opt", "hvd.allreduce"),
        (
            "opt, compression=hvd.Compression.fp16",
            "lambda g: hvd.allreduce(g, compression=hvd.Compression.fp16)",
        ),
        ("opt, op=hvd.Adasum", "lambda g: hvd.allreduce(g, op=hvd.Adasum)"),
    ],
)
def test_its_arguments(arguments: str, average: str) -> None:
    assert f"averaging_optimizer(opt, {average})" in after(wrapped(arguments), "CM205")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (wrapped("opt, backward_passes_per_step=n"), "backward_passes_per_step=n"),
        (wrapped("opt, sparse_as_dense=True"), "sparse_as_dense=True"),
        (wrapped("opt, **given"), "not certain"),
        (wrapped("opt, None"), "not certain"),
        (
            wrapped() + "opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)\n",
            "a LossScaleOptimizer around it",
        ),
        (
            wrapped().replace("model.compile(opt, loss='mse')", "opt.apply_gradients(pairs)")
            + 'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n',
            "does not scale its loss",
        ),
    ],
)
def test_refusals(text: str, why: str) -> None:
    assert why in refused(text, "CM205")


@pytest.mark.parametrize(
    "text",
    [
        wrapped().replace("tf.keras.optimizers.SGD", "tf.compat.v1.train.MomentumOptimizer"),
        wrapped(package="ours"),
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + wrapped(),
        wrapped().replace("opt = hvd", "# opt = hvd"),
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM205")
