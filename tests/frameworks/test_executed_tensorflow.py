"""The executed proof of migrations to Keras 3, for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crosscast_parity.side_by_side.on_cpu import NOTE
from crosscast_parity.side_by_side.running import Limits
from frameworks.subprocesses import require
from side_by_side import Bench
from tiers import cases, exhaustive

pytestmark = pytest.mark.tensorflow

LOOP = """\
import numpy as np
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
rng = np.random.RandomState(0)
rows = rng.normal(0, 1, (32, 8)).astype("float32")
labels = rng.randint(0, 4, 32)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(4, dtype="float32")]
)
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=0.1)
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer, initial_scale=1024.0)


@tf.function
def step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = cross_entropy(targets, model(inputs, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for number in range(8):
    step(rows[4 * number : 4 * number + 4], labels[4 * number : 4 * number + 4])
"""
PLANTED = {
    "rate": ("AdamW(0.01", "AdamW(0.02", "rate"),
    "decay": ("weight_decay=0.1", "weight_decay=0.2", "weight_decay"),
    "no clip": (", global_clipnorm=0.1", "", "clipping"),
    "not scaled": ("scaled = optimizer.scale_loss(loss)", "scaled = loss", "norm"),
    "fewer updates": ("range(8)", "range(6)", "updates"),
}
FIT = LOOP[: LOOP.index("\n\n@tf.function")] + (
    "\nmodel.compile(optimizer, cross_entropy)\n"
    "model.fit(rows, labels, batch_size=4, shuffle=False, verbose=0)\n"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("tensorflow")
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.py").write_text("raise SystemExit('the copy was not written over')\n")
    return Bench(folder, "tensorflow", Limits(seconds=300.0))


@exhaustive("a loop beside fit")
def test_a_loop_and_fit_train_the_same(bench: Bench) -> None:
    found = bench.prove(LOOP, FIT)
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert found.shown["clipping.max_norm"].startswith("global_norm 0.1 on both sides; it cut")
    assert found.shown["loss_scaling.backoff_factor"].startswith("the scale falls from 1024 to 512")
    assert found.shown["optimizer.weight_decay"] == "both optimizers received 0.1"
    assert "precision.mode" not in found.shown
    assert "half precision was not verified" in found.notes[0]


@pytest.mark.parametrize("name", cases(PLANTED, quick=[], reason="planted mistakes"))
def test_a_planted_mistake_is_found(bench: Bench, name: str) -> None:
    old, new, what = PLANTED[name]
    assert old in LOOP
    found = bench.prove(LOOP, LOOP.replace(old, new))
    assert found.outcome == "different", found.wording
    assert found.difference is not None
    assert found.difference.what == what, found.wording
    assert found.difference.update == (7 if name == "fewer updates" else 1)


OLD_LOOP = LOOP.replace("scale_loss(loss)", "get_scaled_loss(loss)").replace(
    "    optimizer.apply_gradients(",
    "    gradients = optimizer.get_unscaled_gradients(gradients)\n    optimizer.apply_gradients(",
)
"""The loop for Keras 2, which tf_keras runs."""


@exhaustive("a loop beside tf_keras")
def test_what_ran_in_keras_2_is_proven(tmp_path: Path) -> None:
    require("tf_keras")
    (tmp_path / "train.py").write_text(OLD_LOOP)
    words = ("train.py", "--to", "keras3", "--verify", "--json", "--run", "train.py")
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", "migrate", "--experimental", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["execution"]
    assert found["outcome"] == "same", found
    assert found["updates"] == 8


ON_GPU = LOOP.replace(
    "import tensorflow as tf\n",
    "import tensorflow as tf\n\ntf.config.set_soft_device_placement(False)\n",
    1,
).replace(
    "    with tf.GradientTape() as tape:",
    "    with tf.device('/GPU:0'), tf.GradientTape() as tape:",
)


@exhaustive("a program that asks for a GPU")
def test_a_program_that_asks_for_a_gpu_is_proven_on_the_cpu(bench: Bench) -> None:
    found = bench.prove(ON_GPU, ON_GPU)
    assert found.outcome == "same", found.wording
    assert found.updates == 8
    assert NOTE in found.notes
