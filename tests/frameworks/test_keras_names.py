"""The tables of Keras 2 names hold in the installed Keras; migrated optimizers do what they did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from frameworks.subprocesses import older, run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

HERE = Path(__file__).parent
TENSORFLOW_2_5 = "needs TensorFlow 2.5: let CROSSCAST_TENSORFLOW_2_5 name its Python"
OPTIMIZERS = {
    "adam": "tf.keras.optimizers.Adam(lr=0.1, decay=0.05)",
    "sgd": "tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=1e-1)",
    "rmsprop": "tf.keras.optimizers.RMSprop(lr=0.01, rho=0.95)",
    "default": "tf.keras.optimizers.SGD(decay=0.5)",
    "set": "tf.keras.optimizers.SGD(0.1, decay=0.5)\noptimizer.learning_rate = 0.05",
    "schedule": "tf.keras.optimizers.Adam("
    "tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9), decay=0.05)",
}


def test_every_row_holds_in_keras_3() -> None:
    assert run_python(HERE / "run_keras_names.py", "tensorflow") == []


@exhaustive("optimizers beside TensorFlow 2.5")
@pytest.mark.skipif("tensorflow@2.5" not in older("tensorflow"), reason=TENSORFLOW_2_5)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_does_what_it_did_in_keras_2(name: str, tmp_path: Path) -> None:
    text = f"import tensorflow as tf\n\noptimizer = {OPTIMIZERS[name]}\n"
    result = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
    assert not result.refusals
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(result.texts["train.py"])
    runner = HERE / "run_keras_decay.py"
    old = run_python(runner, "tensorflow@2.5", tmp_path / "old.py", fork=False)
    new = run_python(runner, "tensorflow", tmp_path / "new.py")
    np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)


@exhaustive("optimizer classes beside TensorFlow 2.5")
@pytest.mark.skipif("tensorflow@2.5" not in older("tensorflow"), reason=TENSORFLOW_2_5)
def test_an_optimizer_class_does_what_it_did_in_keras_2(tmp_path: Path) -> None:
    text = (HERE / "own_optimizers.txt").read_text()
    result = migrate_in_place([Source("train.py", text)], codemods_to("keras3"))
    assert not result.refusals
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(result.texts["train.py"])
    runner = HERE / "run_own_optimizers.py"
    old = run_python(runner, "tensorflow@2.5", tmp_path / "old.py", fork=False)
    new = run_python(runner, "tensorflow", tmp_path / "new.py")
    for name, weights in old.items():
        for before, after in zip(weights, new[name], strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-5, err_msg=name)


def test_gradients_are_averaged_before_they_are_checked() -> None:
    found = run_python(HERE / "run_keras_averaging.py", "tensorflow")
    for policy in ("float32", "mixed_float16"):
        whole, half = np.array(found[f"{policy} alone"][0]), np.array(found[f"{policy} halved"][0])
        np.testing.assert_allclose(half, whole / 2, rtol=1e-4)
    moved, scale = found["mixed_float16 overflow"]  # that of another process
    assert not np.any(moved)
    assert scale == found["mixed_float16 alone"][1] / 2
