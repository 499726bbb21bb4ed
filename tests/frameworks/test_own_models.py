"""Models of the user's own: weights without a gradient, tied weights, names that clash."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.compiler import compile_recipe
from crosscast.output import write_files
from crosscast.recipe import Recipe
from frameworks.emitted_script import tiny_recipe
from frameworks.subprocesses import start

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.slow]

TORCH = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.unused = nn.Embedding(8, 4), nn.Linear(4, 2)
        self.head = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        hidden = self.head(self.embed(x))[0].mean(1)
        return hidden @ self.embed.weight.T[:, :3]


build_model = Net
"""
PADDLE = """
from paddle import nn


class Tied(nn.Layer):
    def __init__(self, weight):
        super().__init__()
        self.decoder_weight = weight

    def forward(self, hidden):
        return (hidden @ self.decoder_weight.T)[:, :3]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed, self.unused = nn.Embedding(8, 4), nn.Linear(4, 2)
        self.tied = Tied(self.embed.weight)

    def forward(self, x):
        return self.tied(self.embed(x).mean(1))


build_model = Net
"""
KERAS = """
import keras


@keras.saving.register_keras_serializable()
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(8, 4, name="embed")
        self.head = keras.layers.Dense(3, name="head")
        self.unused = keras.layers.Dense(2, name=UNUSED)

    def call(self, inputs, training=False):
        hidden = keras.ops.mean(self.embed(inputs["x"]), axis=1)
        self.unused(hidden)
        return self.head(hidden)


def build_model():
    import numpy as np

    model = Net()
    model({"x": np.zeros((1, 5), np.int32)})
    return model
"""


def recipe(optimizer: str) -> Recipe:
    factory = dict.fromkeys(("torch", "tensorflow", "paddle"), "own:build_model")
    no_decay = ["bias", "embedding"]
    return tiny_recipe(
        model={"kind": "custom", "factory": factory},
        data={"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
        optimizer={
            "name": optimizer,
            "learning_rate": 0.1,
            "weight_decay": 0.5,
            "no_decay": no_decay,
        },
    )


def train(folder: Path, target: str, model: str, optimizer: str) -> tuple[int, str, Path]:
    (compiled,) = compile_recipe(recipe(optimizer), [target])
    write_files(folder, compiled.files)
    (folder / "own.py").write_text(model)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, (64, 5)).astype(np.int32)
    np.savez(folder / "rows.npz", x=x, labels=(x[:, 0] % 3).astype(np.int32))
    done = start(folder / "train.py", target, "--output", "out", "--windows", 3, "--device", "cpu")
    return done.returncode, done.stderr, folder / "out"


@pytest.mark.parametrize(
    ("target", "model"), [("torch", TORCH), ("paddle", PADDLE), ("tensorflow", KERAS)]
)
@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_unused_and_tied_weights_train(
    tmp_path: Path, target: str, model: str, optimizer: str
) -> None:
    text = model.replace("UNUSED", "'unused'")
    code, errors, out = train(tmp_path, target, text, optimizer)
    assert code == 0, errors
    weights = load_file(out / "model.safetensors")
    assert all(np.isfinite(array).all() for array in weights.values())
    # What CC302 says: without a gradient, weights stay as they are, but decay in TensorFlow.
    one = start(tmp_path / "train.py", target, "--output", "one", "--windows", 1, "--device", "cpu")
    assert one.returncode == 0, one.stderr
    early = load_file(tmp_path / "one" / "model.safetensors")
    (unused,) = [n for n, array in weights.items() if "unused" in n and array.ndim == 2]
    changed = not np.array_equal(weights[unused], early[unused])
    assert changed == (target == "tensorflow")
    last = json.loads((out / "trace.jsonl").read_text().splitlines()[-1])
    assert last["updates"] == 3


def test_two_keras_weights_of_one_name_are_refused(tmp_path: Path) -> None:
    text = KERAS.replace("UNUSED", "'head'")
    code, errors, out = train(tmp_path, "tensorflow", text, "adamw")
    assert code == 2
    assert "name the layers" in errors
    assert json.loads((out / "status.json").read_text())["status"] == "failed"


def test_a_factory_that_fails_leaves_a_status(tmp_path: Path) -> None:
    code, errors, out = train(
        tmp_path, "torch", "def build_model():\n    raise RuntimeError\n", "adam"
    )
    assert code == 1
    assert "RuntimeError" in errors
    status = json.loads((out / "status.json").read_text())
    assert (status["status"], status["exit_code"]) == ("failed", 1)
