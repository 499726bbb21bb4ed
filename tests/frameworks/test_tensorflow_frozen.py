"""Averages beside weights that are not trained, and resuming, in a Keras model of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from frameworks.emitted_script import FLOAT16, emit, tiny_recipe
from frameworks.script_runs import Run, calls
from tiers import Lazy, cases

pytestmark = pytest.mark.tensorflow

MODEL = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

NORM = {"dtype": "mixed_float16"} if "FULL" == "yes" else {}


class Net(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.embed = keras.layers.Embedding(8, 4, name="embed")
        self.norm = keras.layers.BatchNormalization(name="norm", momentum=0.5, **NORM)
        self.frozen = keras.layers.Dense(4, name="frozen")
        self.frozen.trainable = False
        self.head = keras.layers.Dense(3, name="head")
        self.drop = keras.layers.Dropout(0.2, name="drop")

    def call(self, inputs, training=False):
        hidden = tf.reduce_mean(self.embed(inputs["x"]), axis=1)
        hidden = self.drop(hidden, training=training)
        return self.head(self.frozen(self.norm(hidden, training=training)))


def build_model():
    model = Net()
    model({"x": np.zeros((1, 5), np.int32)})
    return model
"""
FULL = {"mode": "full", "compute_dtype": "float16"}
TOO_HIGH = {"mode": "dynamic", "init_scale": 2.0**20, "growth_interval": 4}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "keras3": ("tensorflow", {}),
    "mixed": ("tensorflow", FLOAT16),
    "full": ("tensorflow", FULL),
    "keras2": ("tensorflow@2.15", {}),
    "keras2-full": ("tensorflow@2.15", FULL),
}
EACH = pytest.mark.parametrize(
    "name", cases(VARIANTS, quick=["full"], reason="types of a model with frozen weights")
)


def write_rows(path: Path, rows: int) -> Path:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 8, (rows, 5)).astype(np.int32)
    np.savez(path, x=x, labels=x[:, 0] % 3)
    return path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Run, Run]]:
    """Every variant that is asked for: trained in one go, and with a break after window 3."""

    def train(name: str) -> tuple[Run, Run]:
        target, precision = VARIANTS[name]
        folder = tmp_path_factory.mktemp(name)
        module = f"net_{name.replace('-', '_')}"
        recipe = tiny_recipe(
            model={"kind": "custom", "factory": {"tensorflow": f"{module}:build_model"}},
            optimizer={"name": "adamw", "learning_rate": 0.05},
            precision=precision,
            **({"loss_scaling": TOO_HIGH} if precision is FULL else {}),
            ema={"decay": 0.5},
        )
        script = emit(recipe, target, folder) / "train.py"
        text = MODEL.replace('"FULL"', '"yes"' if precision is FULL else '"no"')
        if target != "tensorflow":  # with Keras 2 a resumed run draws other masks (CC372)
            text = text.replace("Dropout(0.2", "Dropout(0.0")
        (folder / f"{module}.py").write_text(text)
        data = ("--train", write_rows(folder / "train.npz", 72))
        flags = (*data, "--eval", write_rows(folder / "eval.npz", 20), "--device", "cpu")
        runs = [
            (folder / "whole", (*flags, "--windows", 8)),
            (folder / "parts", (*flags, "--windows", 3)),
            (folder / "parts", (*flags, "--windows", 8, "--resume")),
        ]
        framework = "tensorflow" if target == "tensorflow" else "tf_keras"
        whole, first, rest = calls(script, framework, runs)
        assert [diagnostic.code for diagnostic in (whole, first, rest)] == [0, 0, 0], (
            whole,
            first,
            rest,
        )
        return whole, rest

    return Lazy(train)


@EACH
def test_resuming_changes_nothing(ran: Mapping[str, tuple[Run, Run]], name: str) -> None:
    whole, parts = ran[name]
    if VARIANTS[name][1] is FULL:
        assert {row["skipped"] for row in whole.trace[:3]} == {True}
        assert not whole.trace[-1]["skipped"]
    assert whole.trace == parts.trace
    assert whole.status == parts.status
    for file in ("checkpoint.safetensors", "model.safetensors", "ema.safetensors"):
        first, other = load_file(whole.output / file), load_file(parts.output / file)
        assert first.keys() == other.keys()
        assert all(first[key].tobytes() == other[key].tobytes() for key in first), file


@EACH
def test_averages_are_whole_weights(ran: Mapping[str, tuple[Run, Run]], name: str) -> None:
    run = ran[name][0]
    averaged, weights = load_file(run.output / "ema.safetensors"), run.weights
    assert len(weights) == 9
    assert averaged.keys() == weights.keys()
    held = load_file(run.output / "checkpoint.safetensors")
    trained = {key.removeprefix("ema/") for key in held if key.startswith("ema/")}
    assert len(trained) == 5
    for key, array in averaged.items():
        assert array.dtype == np.float32
        if key in trained:
            assert array.tobytes() == held[f"ema/{key}"].tobytes()
            assert (array != weights[key]).any()
        else:
            assert array.tobytes() == weights[key].tobytes()


@EACH
def test_averages_can_be_started_from(ran: Mapping[str, tuple[Run, Run]], name: str) -> None:
    whole = ran[name][0]
    folder = whole.output.parent
    data = ("--train", folder / "train.npz", "--eval", folder / "eval.npz", "--device", "cpu")
    flags = (*data, "--weights", whole.output / "ema.safetensors", "--windows", 1)
    framework = "tensorflow" if VARIANTS[name][0] == "tensorflow" else "tf_keras"
    (run,) = calls(folder / "train.py", framework, [(folder / "again", flags)])
    assert run.code == 0, run
    frozen = [key for key in whole.weights if "frozen" in key]
    assert len(frozen) == 2
    assert all(run.weights[key].tobytes() == whole.weights[key].tobytes() for key in frozen)
