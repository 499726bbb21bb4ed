"""Models of the user's own: weights without a gradient, tied weights, names that clash."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from frameworks.emitted_script import BFLOAT16, tiny_recipe
from frameworks.subprocesses import run_python, start
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

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


TYPES = {
    "torch": """
import sys
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(8, 4), nn.Linear(4, 3)

    def forward(self, x):
        found = self.embed(x)
        print("embedding:", found.dtype, file=sys.stderr)
        return self.head(found.mean(1))


build_model = Net
""",
    "tensorflow": """
import sys
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(8, 4, name="embed")
        self.head = keras.layers.Dense(3, name="head")

    def call(self, inputs, training=False):
        found = self.embed(inputs["x"])
        print("embedding:", found.dtype.name, file=sys.stderr)
        return self.head(keras.ops.mean(found, axis=1))


def build_model():
    model = Net()
    model({"x": np.zeros((1, 5), np.int32)})
    return model
""",
}
PADDLE_TYPES = """
import json
import warnings

import paddle

warnings.simplefilter("ignore")
paddle.enable_static()
with paddle.static.program_guard(paddle.static.Program()):
    ids = paddle.static.data("ids", [2, 5], "int64")
    with paddle.amp.auto_cast(dtype="bfloat16"):
        found = paddle.nn.Embedding(8, 4)(ids)
        hidden = paddle.matmul(found, paddle.create_parameter([4, 4], "float32"))
        types = {"embedding": found.dtype, "matmul": hidden.dtype, "mean": hidden.mean(1).dtype}
print(json.dumps({name: str(dtype).rpartition(".")[2].lower() for name, dtype in types.items()}))
"""


def recipe(optimizer: str, **sections: object) -> Recipe:
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
        **sections,
    )


def train(
    folder: Path, target: str, model: str, optimizer: str, **sections: object
) -> tuple[int, str, Path]:
    (compiled,) = compile_recipe(recipe(optimizer, **sections), [target])
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
@pytest.mark.parametrize(
    "optimizer", cases(["adam", "adamw"], quick=["adamw"], reason="without decay, too")
)
def test_unused_and_tied_weights_train(
    tmp_path: Path, target: str, model: str, optimizer: str
) -> None:
    text = model.replace("UNUSED", "'unused'")
    code, errors, out = train(tmp_path, target, text, optimizer)
    assert code == 0, errors
    weights = load_file(out / "model.safetensors")
    assert all(np.isfinite(array).all() for array in weights.values())
    # What CC302 says: without a gradient, weights stay as they are, but decay in TensorFlow.
    single = start(
        tmp_path / "train.py", target, "--output", "one", "--windows", 1, "--device", "cpu"
    )
    assert single.returncode == 0, single.stderr
    early = load_file(tmp_path / "one" / "model.safetensors")
    (unused,) = [n for n, array in weights.items() if "unused" in n and array.ndim == 2]
    changed = not np.array_equal(weights[unused], early[unused])
    assert changed == (target == "tensorflow")
    last = json.loads((out / "trace.jsonl").read_text().splitlines()[-1])
    assert last["updates"] == 3


def test_a_keras_model_without_weights_is_not_trained(tmp_path: Path) -> None:
    """Keras makes weights at the first call; before it there is nothing to train."""
    text = KERAS.replace("UNUSED", "'unused'").partition("def build_model")[0]
    code, errors, out = train(tmp_path, "tensorflow", text + "build_model = Net\n", "adam")
    assert code == 2, errors
    assert "no weights yet" in json.loads((out / "status.json").read_text())["message"]
    assert not (out / "trace.jsonl").exists()


FROZEN = {
    "torch": TORCH.replace(
        "return hidden @ self.embed.weight", "return hidden @ self.again.weight"
    ).replace("build_model = Net", "")
    + """
def build_model():
    net = Net()
    net.again = nn.Embedding(8, 4)
    net.again.weight = net.embed.weight
    net.unused.requires_grad_(False)
    return net
""",
    "paddle": PADDLE.replace("build_model = Net", "")
    + """
def build_model():
    net = Net()
    for parameter in net.unused.parameters():
        parameter.stop_gradient = True
    return net
""",
    "tensorflow": KERAS.replace("UNUSED", "'unused'").replace(
        "    return model\n", "    model.unused.trainable = False\n    return model\n"
    ),
}


@pytest.mark.parametrize(
    "target", cases(FROZEN, quick=["torch"], reason="averages of models in other frameworks")
)
def test_the_file_of_averages_holds_every_weight(tmp_path: Path, target: str) -> None:
    code, errors, out = train(tmp_path, target, FROZEN[target], "adam", ema={"decay": 0.5})
    assert code == 0, errors
    weights, averages = (load_file(out / f"{name}.safetensors") for name in ("model", "ema"))
    checkpoint = load_file(out / "checkpoint.safetensors")
    assert averages.keys() == weights.keys()
    trained = {name[4:] for name in checkpoint if name.startswith("ema/")}
    frozen = weights.keys() - trained
    assert frozen
    assert all("unused" in name for name in frozen)
    for name, array in weights.items():
        assert np.array_equal(averages[name], array) == (name in frozen), name
    order = ("--output", "again", "--windows", 1, "--device", "cpu")
    again = start(tmp_path / "train.py", target, *order, "--weights", out / "ema.safetensors")
    assert again.returncode == 0, again.stderr


@exhaustive("types inside a model of the user")
def test_types_are_the_choice_of_the_framework(tmp_path: Path) -> None:
    """What CC303 says, seen in a model that all three could have written."""
    found = {}
    for target, model in TYPES.items():
        folder = tmp_path / target
        code, output, _ = train(folder, target, model, "adamw", precision=BFLOAT16)
        assert code == 0, output
        found[target] = {
            line.rpartition(" ")[2] for line in output.splitlines() if "embedding" in line
        }
    assert found == {"torch": {"torch.float32"}, "tensorflow": {"bfloat16"}}
    program = tmp_path / "seen_types.py"
    program.write_text(PADDLE_TYPES)
    # Paddle has its own list: a mean of halves, which PyTorch leaves in half, is float32.
    types = {"embedding": "float32", "matmul": "bfloat16", "mean": "float32"}
    assert run_python(program, "paddle") == types


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


@pytest.mark.parametrize(
    ("target", "model"),
    cases(
        [("torch", TORCH), ("paddle", PADDLE), ("tensorflow", KERAS)],
        quick=[("paddle", PADDLE)],
        reason="labels of tokens in other frameworks",
    ),
)
def test_labels_of_every_token_need_normalization_by_token(
    tmp_path: Path, target: str, model: str
) -> None:
    train(tmp_path, target, model.replace("UNUSED", "'unused'"), "adam")
    x = np.zeros((8, 5), np.int32)
    np.savez(tmp_path / "tokens.npz", x=x, labels=x)
    run = ("--output", "tokens", "--device", "cpu", "--train", "tokens.npz", "--windows", 1)
    done = start(tmp_path / "train.py", target, *run)
    assert done.returncode == 2, done.stderr
    assert "tokens.npz: needs `labels` of one number a row" in done.stderr
