"""Loss scaling with two replicas: migrated programs do what Keras 2 did, Keras 3 alone does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import require, run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

RUNNER = Path(__file__).parent / "run_keras_replicas.py"
MODEL = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.InputLayer(input_shape=(3,)),
            tf.keras.layers.Dense(4),
            tf.keras.layers.Dense(2, dtype="float32"),
        ]
    )
    inner = tf.keras.optimizers.SGD(0.05, momentum=0.9)
"""
LOOP = f"""\
{MODEL}    opt = tf.keras.mixed_precision.LossScaleOptimizer(inner, initial_scale=256.0)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model(x) - y) ** 2) / 8.0
        loss = opt.get_scaled_loss(loss)
    grads = tape.gradient(loss, model.trainable_variables)
    grads = opt.get_unscaled_gradients(grads)
    {{}}opt.apply_gradients(zip(grads, model.trainable_variables){{}})


@tf.function
def train(x, y):
    strategy.run(step, args=(x, y))
"""
REDUCED = 'grads = tf.distribute.get_replica_context().all_reduce("mean", grads)\n    '
PROGRAMS = {
    "loop": LOOP.format("", ""),
    "kept": LOOP.format("norm = tf.linalg.global_norm(grads)\n    ", ""),
    "reduced": LOOP.format(REDUCED, ", experimental_aggregate_gradients=False"),
    "fit": f'{MODEL}    model.compile(inner, loss="mse")\n',
}


def ran(folder: Path, package: str, texts: dict[str, str]) -> dict[str, Any]:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    found: dict[str, Any] = run_python(RUNNER, "tensorflow", folder, package, fork=False)
    return found


@pytest.fixture(scope="module")
def migrated() -> dict[str, str]:
    found = {}
    for name, text in PROGRAMS.items():
        result = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
        assert not result.refusals
        found[name] = result.texts["train.py"]
    return found


@exhaustive("two replicas beside Keras 2 and beside Keras 3 alone")
def test_every_replica_skips_a_step_that_one_of_them_overflows(
    tmp_path: Path, migrated: dict[str, str]
) -> None:
    require("tf_keras")
    new = ran(tmp_path / "new", "keras", migrated)
    old = ran(tmp_path / "old", "tf_keras", PROGRAMS)
    alone = ran(tmp_path / "alone", "keras", {"fit": PROGRAMS["fit"]})
    assert not np.isfinite(np.ravel(alone["fit"]["weights"][-1][0])).all()
    for name, found in new.items():
        assert old[name]["old"]
        assert not found["old"]
        assert found["scale"] == old[name]["scale"], name
        assert found["scale"] < (2.0**15 if name == "fit" else 256.0)
        for before, after in zip(old[name]["weights"], found["weights"], strict=True):
            for mine, yours in zip(before, after, strict=True):
                np.testing.assert_allclose(mine[0], yours[0], rtol=2e-3, atol=2e-4, err_msg=name)
                assert yours[0] == yours[1]
