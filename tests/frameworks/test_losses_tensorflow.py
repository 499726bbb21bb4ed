"""The losses of emitted TensorFlow scripts, for models of the user's own, against NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crosscast.recipe.document import Recipe
from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python, start

pytestmark = pytest.mark.tensorflow

Array = NDArray[Any]
Floats = NDArray[np.float64]


PROGRAM = Path(__file__).with_name("run_losses_tensorflow.py")
FRAMEWORKS = {"tensorflow": "tensorflow", "tensorflow@2.15": "tf_keras"}
ROWS, TOKENS, FEATURES, CLASSES = 10, 5, 4, 3
"""Three micro-batches of 4 rows to evaluate, the last of 2."""
OWN = """
import numpy as np
import tensorflow as tf
from tensorflow import keras


class Net(keras.Model):
    def __init__(self, units, squeezed=False, shaped=True):
        super().__init__()
        self.head = keras.layers.Dense(units, name="head", bias_initializer="ones")
        self.squeezed, self.shaped = squeezed, shaped

    def call(self, inputs, training=False):
        outputs = self.head(inputs["x"])
        outputs = 2.0 * outputs if training else outputs
        if not self.shaped:
            return tf.numpy_function(lambda array: array, [outputs], tf.float32)
        return outputs[..., 0] if self.squeezed else outputs


def build(*args, **options):
    keras.utils.set_random_seed(3)
    model = Net(*args, **options)
    model({"x": np.zeros((1, 4), np.float32)})
    return model


def classes():
    return build(3)


def number():
    return build(1, squeezed=True)


def column():
    return build(1)


def unshaped():
    return build(1, shaped=False)


def per_row(model, batch, training):
    return tf.abs(model({"x": batch["x"]}, training=training) - batch["y"])


def of_all_rows(model, batch, training):
    return tf.reduce_mean(per_row(model, batch, training))


def per_label(model, batch, training):
    outputs = model({"x": batch["x"]}, training=training)
    errors = tf.abs(outputs - tf.cast(batch["marks"], tf.float32))
    return tf.where(batch["marks"] != -100, errors, 0.0)
"""


def cross_entropy(outputs: Floats, labels: Array, smoothing: float = 0.0) -> Floats:
    log_p = outputs - np.log(np.exp(outputs).sum(-1, keepdims=True))
    classes = np.where(labels == -100, 0, labels)
    of_label = np.take_along_axis(log_p, classes[..., None], -1)[..., 0]
    losses = -(1.0 - smoothing) * of_label - smoothing * log_p.mean(-1)
    return np.where(labels == -100, 0.0, losses)


def smoothed(outputs: Floats, labels: Array) -> Floats:
    return cross_entropy(outputs, labels, 0.1)


WEIGHTS = (0.5, 1.0, 4.0)


def weighted(outputs: Floats, labels: Array) -> Floats:
    losses: Floats = cross_entropy(outputs, labels) * np.take(WEIGHTS, labels, mode="clip")
    return losses


def mean_of_row(losses: Floats) -> Floats:
    means: Floats = losses.reshape(ROWS, -1).mean(1)
    return means


def binary(outputs: Floats, targets: Array) -> Floats:
    p = 1.0 / (1.0 + np.exp(-outputs))
    losses: Floats = -targets * np.log(p) - (1.0 - targets) * np.log(1.0 - p)
    return mean_of_row(losses)


def squared(outputs: Floats, targets: Array) -> Floats:
    return mean_of_row((outputs - targets) ** 2)


def absolute(outputs: Floats, targets: Array) -> Floats:
    return np.where(targets == -100, 0.0, np.abs(outputs - targets))


def arrays(*shape: int) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, CLASSES, shape)
    return {
        "x": rng.normal(size=(*shape, FEATURES)).astype(np.float32),
        "labels": labels,
        "marks": np.where(rng.random(shape) < 0.3, -100, labels),
        "y": rng.normal(size=shape).astype(np.float32),
        "several": rng.normal(size=(*shape, CLASSES)).astype(np.float32),
        "shares": rng.random((*shape, CLASSES)).astype(np.float32),
    }


FLAT, NESTED = arrays(ROWS), arrays(ROWS, TOKENS)


@dataclass(frozen=True)
class Case:
    """A recipe's loss, the factory of its model, its rows, and the loss of each of them."""

    loss: dict[str, Any]
    model: str
    target: str
    formula: Callable[[Floats, Array], Floats]
    unit: str = "sample"

    def recipe(self) -> Recipe:
        return tiny_recipe(
            model={"kind": "custom", "factory": {"tensorflow": f"own:{self.model}"}},
            data={"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
            loss=self.loss,
            accumulation={"normalize_by": self.unit},
        )

    def arrays(self) -> dict[str, Array]:
        rows = NESTED if self.unit == "token" else FLAT
        return {"x": rows["x"], self.target: rows[self.target]}


PLAIN = {"kind": "cross_entropy"}
MSE = {"kind": "mse", "target": "y"}


def own(function: str, **more: str) -> dict[str, Any]:
    return {"kind": "custom", "function": {"tensorflow": f"own:{function}"}, **more}


CASES = {
    "plain": Case(PLAIN, "classes", "labels", cross_entropy),
    "smoothing": Case(PLAIN | {"label_smoothing": 0.1}, "classes", "labels", smoothed),
    "weights": Case(
        PLAIN | {"class_weights": WEIGHTS}, "classes", "labels", weighted, "microbatch"
    ),
    "bce": Case({"kind": "binary_cross_entropy", "target": "shares"}, "classes", "shares", binary),
    "mse": Case(MSE, "number", "y", squared),
    "mse_of_several": Case(MSE | {"target": "several"}, "classes", "several", squared),
    "mse_mean": Case(MSE | {"target": "several"}, "classes", "several", squared, "microbatch"),
    "custom": Case(own("per_row"), "number", "y", absolute),
    "custom_scalar": Case(own("of_all_rows"), "number", "y", absolute, "microbatch"),
    "custom_token": Case(own("per_label", target="marks"), "number", "marks", absolute, "token"),
    "token": Case(PLAIN | {"target": "marks"}, "classes", "marks", cross_entropy, "token"),
    "token_smoothing": Case(
        PLAIN | {"target": "marks", "label_smoothing": 0.1}, "classes", "marks", smoothed, "token"
    ),
    "token_weights": Case(
        PLAIN | {"target": "marks", "class_weights": WEIGHTS}, "classes", "marks", weighted, "token"
    ),
}
REFUSED = {
    "column": Case(MSE, "column", "y", squared),
    "unshaped": Case(MSE, "unshaped", "y", squared),
    "column_bce": Case(MSE | {"kind": "binary_cross_entropy"}, "column", "y", binary),
    "more_weights": Case(PLAIN | {"class_weights": (*WEIGHTS, 1.0)}, "classes", "labels", weighted),
}
"""Outputs [rows, 1] for targets [rows], which would be broadcast; a weight of no class."""


def written(case: Case, target: str, folder: Path) -> Path:
    emit(case.recipe(), target, folder)
    (folder / "own.py").write_text(OWN)
    np.savez(folder / "rows.npz", **case.arrays())  # type: ignore[arg-type]
    return folder


@pytest.fixture(scope="module", params=FRAMEWORKS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the scripts of all cases compute."""
    root = tmp_path_factory.mktemp("losses")
    each = (CASES | REFUSED).items()
    folders = [written(case, request.param, root / name) for name, case in each]
    return run_python(PROGRAM, FRAMEWORKS[request.param], *folders)


@pytest.mark.parametrize("name", CASES)
def test_a_loss_is_that_of_its_formula(found: Any, name: str) -> None:
    case, result = CASES[name], found[name]
    rows = case.arrays()
    targets = rows[case.target]
    kernel, bias = (np.array(weight) for weight in result["weights"])
    outputs = rows["x"].astype(np.float64) @ kernel + bias
    if case.model == "number":
        outputs = outputs[..., 0]
    training, losses = case.formula(2.0 * outputs, targets), case.formula(outputs, targets)
    reduced = training.mean() if case.unit == "microbatch" else training.sum()
    assert result["loss"] == pytest.approx(reduced, rel=1e-6)
    counted = np.count_nonzero(targets != -100) if case.unit == "token" else ROWS
    evaluated = {"loss": losses.sum() / counted}
    if case.loss["kind"] == "cross_entropy":
        evaluated["accuracy"] = np.count_nonzero(outputs.argmax(-1) == targets) / counted
    assert result["eval"] == pytest.approx(evaluated, rel=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_differ_are_refused(found: Any, name: str) -> None:
    assert "hape" in found[name]["error"]


def run(folder: Path) -> tuple[int, dict[str, Any]]:
    order = ("--output", "out", "--windows", 3, "--device", "cpu")
    done = start(folder / "train.py", "tensorflow", *order)
    return done.returncode, json.loads((folder / "out" / "status.json").read_text())


def test_a_regression_trains_and_has_no_accuracy(tmp_path: Path) -> None:
    code, status = run(written(CASES["mse"], "tensorflow", tmp_path / "mse"))
    assert code == 0, status
    assert status["updates"] == 3
    assert status["eval"].keys() == {"loss"}


def test_a_run_whose_shapes_differ_ends_with_a_message(tmp_path: Path) -> None:
    code, status = run(written(REFUSED["column"], "tensorflow", tmp_path / "column"))
    assert code == 1
    assert status["status"] == "failed"
    assert "hape" in status["message"]
