"""The losses of emitted TensorFlow scripts, for your models, against NumPy."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import emit
from frameworks.loss_cases import CASES, LossCase
from frameworks.subprocesses import run_python, start
from tiers import cases, exhaustive

pytestmark = pytest.mark.tensorflow

PROGRAM = Path(__file__).with_name("run_losses_tensorflow.py")
FRAMEWORKS = {"tensorflow": "tensorflow", "tensorflow@2.15": "tf_keras"}
IN_TRAINING = 2.0
"""Factor of the model's outputs while it trains."""
MODEL = """
import numpy as np
import tensorflow as tf
from tensorflow import keras


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, inputs, training=False):
        factor = {in_training} * self.factor if training else self.factor
        outputs = tf.reshape(factor * inputs["x"], (-1, *{shape}))
        if {shaped}:
            return outputs
        return tf.numpy_function(lambda array: array, [outputs], tf.float32)


build_model = Net
"""
LOSSES = """
import tensorflow as tf


def absolute_errors(model, batch, training):
    errors = tf.abs(model({"x": batch["x"]}, training=training) - batch["y"])
    return tf.reduce_mean(errors, axis=range(1, errors.shape.rank))


def mean_error(model, batch, training):
    return tf.reduce_mean(absolute_errors(model, batch, training))


def token_errors(model, batch, training):
    errors = tf.abs(model({"x": batch["x"]}, training=training) - batch["y"])
    return tf.where(batch["y"] != -100, errors, 0.0)


def squares(model, batch):
    outputs = model({"x": batch.pop("x")})
    found = tf.reduce_mean(outputs ** 2, axis=-1)
    return found if outputs.shape.rank < 3 else tf.where(batch["y"] != -100, found, 0.0)


def positive(model, batch):
    outputs = model({"x": batch["x"]})
    found = tf.reduce_sum(outputs, axis=-1) > 0
    return found if outputs.shape.rank < 3 else found & (batch["y"] != -100)


def mean_square(model, batch):
    return tf.reduce_mean(model({"x": batch["x"]}) ** 2, keepdims=True)[0]
"""
NUMBERS = CASES["mse of numbers"]
BINARY = {"kind": "binary_cross_entropy", "target": "y"}
MORE_WEIGHTS = {"kind": "cross_entropy", "class_weights": [1.0, 1.0, 1.0, 1.0]}
REFUSED = {
    "column": (NUMBERS, (1,), True),
    "metric": (replace(CASES["metrics"], metrics=("mean_square",)), CASES["metrics"].outputs, True),
    "unshaped": (NUMBERS, (1,), False),
    "column, binary": (replace(NUMBERS, loss=BINARY), (1,), True),
    "more weights": (replace(CASES["weights"], loss=MORE_WEIGHTS), CASES["weights"].outputs, True),
}
"""Outputs [rows, 1] for targets [rows], which would be broadcast; a weight of no class."""


def written(
    case: LossCase, target: str, folder: Path, shape: tuple[int, ...] = (), shaped: bool = True
) -> Path:
    """Write a script, its model (of other outputs than the case has), its losses and its rows."""
    emit(case.recipe(), target, folder)
    model = MODEL.format(in_training=IN_TRAINING, shape=shape or case.outputs, shaped=shaped)
    (folder / "my_model.py").write_text(model)
    (folder / "my_losses.py").write_text(LOSSES)
    np.savez(folder / "rows.npz", **case.rows())  # type: ignore[arg-type]
    return folder


@pytest.fixture(
    scope="module", params=cases(FRAMEWORKS, quick=["tensorflow"], reason="losses with Keras 2")
)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the scripts of all cases compute."""
    root, target = tmp_path_factory.mktemp("losses"), request.param
    folders = [written(case, target, root / name) for name, case in CASES.items()]
    for name, (case, shape, shaped) in REFUSED.items():
        folders.append(written(case, target, root / name, shape, shaped))
    return run_python(PROGRAM, FRAMEWORKS[target], *folders)


@pytest.mark.parametrize("name", CASES)
def test_a_loss_is_that_of_its_formula(found: Any, name: str) -> None:
    case, result = CASES[name], found[name]
    rows = case.rows()
    losses = case.expected(rows)
    training = case.expected(rows | {"x": IN_TRAINING * rows["x"]})
    reduced = training.mean() if case.unit == "microbatch" else training.sum()
    assert result["loss"] == pytest.approx(reduced, rel=2e-6)
    targets = rows[case.loss.get("target", "labels")] if case.unit == "token" else losses
    counted = np.count_nonzero(targets != -100)
    evaluated = {"loss": losses.sum() / counted}
    if case.loss["kind"] == "cross_entropy":
        labels = rows[case.loss.get("target", "labels")]
        chosen = rows["x"].reshape(len(labels), *case.outputs).argmax(-1)
        evaluated["accuracy"] = np.count_nonzero(chosen == labels) / counted
    evaluated |= case.metrics_of(rows)
    assert result["eval"] == pytest.approx(evaluated, rel=2e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_differ_are_refused(found: Any, name: str) -> None:
    wanted = "one number per row" if name == "metric" else "hape"
    assert wanted in found[name]["error"]


def run(folder: Path) -> tuple[int, dict[str, Any]]:
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--windows", 3, "--device", "cpu")
    done = start(folder / "train.py", "tensorflow", "--output", "out", *flags)
    return done.returncode, json.loads((folder / "out" / "status.json").read_text())


def test_a_regression_trains_and_has_no_accuracy(tmp_path: Path) -> None:
    code, status = run(written(NUMBERS, "tensorflow", tmp_path / "mse"))
    assert code == 0, status
    assert status["updates"] == 3
    assert status["eval"].keys() == {"loss"}


@exhaustive("a whole run with shapes that differ")
def test_a_run_whose_shapes_differ_ends_with_a_message(tmp_path: Path) -> None:
    code, status = run(written(NUMBERS, "tensorflow", tmp_path / "column", (1,)))
    assert code == 1
    assert status["status"] == "failed"
    assert "hape" in status["message"]
