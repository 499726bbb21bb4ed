"""Attention, recurrent layers, sums of losses and arrays across frameworks; what is refused."""

from __future__ import annotations

import pytest

from across_programs import PROGRAMS, Program
from carried_models import BACKENDS, network_read
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.writing import written

LENGTH = {"schedule.total_steps": 20}


def of(name: str) -> Program:
    return next(program for program in PROGRAMS if program.name == name)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_carried_whole(program: Program) -> None:
    """Its updates in every framework: tests/frameworks/test_across_programs.py."""
    source = Source("train.py", program.text)
    across = migrate_across([source], BACKENDS, settings=LENGTH)
    assert across.fill_in == ()
    assert not {d.code for d in across.diagnostics} & {"CC911", "CC935", "CC938", "CC972"}
    assert set(across.own_models) == set(BACKENDS)
    assert all(own.text and not own.notes for own in across.own_models.values())


MODEL = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.layer = {layer}
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        x = self.embed(tokens)
        {statement}
        return self.head(x[:, -1])


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for tokens, labels in loader:
    loss = F.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
"""
REFUSED = {
    ("nn.LSTM(8, 8)", "x, _ = self.layer(x)"): "the rows on another axis",
    ("nn.LSTM(8, 8, proj_size=4, batch_first=True)", "x, _ = self.layer(x)"): "proj_size",
    ("nn.LSTM(8, 8, batch_first=True)", "x, (h, c) = self.layer(x); x = x + c[-1]"): "the cells",
    ("nn.GRU(8, 8, batch_first=True)", "x, h = self.layer(x, x)"): "begins with a state",
    ("nn.GRU(8, 8, 2, batch_first=True)", "y, h = self.layer(x); x = h.squeeze(0)"): "squeeze of",
    ("nn.RNN(8, 8, nonlinearity='relu', batch_first=True)", "x, h = self.layer(x)"): "nonlinearity",
    ("nn.MultiheadAttention(8, 2)", "x, _ = self.layer(x, x, x)"): "the rows on another axis",
    (
        "nn.MultiheadAttention(8, 2, batch_first=True)",
        "y, w = self.layer(x, x, x); x = x * w",
    ): "the weights of attention",
    (
        "nn.MultiheadAttention(8, 2, add_bias_kv=True, batch_first=True)",
        "x, _ = self.layer(x, x, x)",
    ): "add_bias_kv other than its default",
    (
        "nn.MultiheadAttention(8, 2, batch_first=True)",
        "x, _ = self.layer(x, x, x, key_padding_mask=tokens)",
    ): "a mask of keys that is not true or false",
    (
        "nn.TransformerEncoder(build(8), 2)",
        "x = self.layer(x)",
    ): "build is not known",
    ("nn.Linear(8, 8)", "x = x.permute(1, 0, 2).softmax(0)"): "the rows on their second axis",
    ("nn.Linear(8, 8)", "x = x + torch.rand(8)"): "is not known",
    ("nn.Linear(8, 8)", "x = x[tokens]"): "this part of a value",
    ("nn.Linear(8, 8)", "x = x.split(3, dim=2)[0]"): "no size is known",
}


@pytest.mark.parametrize(("made", "reason"), REFUSED.items())
def test_what_means_something_else_is_refused(made: tuple[str, str], reason: str) -> None:
    layer, statement = made
    with pytest.raises(UnreadableError) as refusal:
        network_read(MODEL.format(layer=layer, statement=statement), "torch")
    assert reason in refusal.value.reason


def test_one_bias_stays_one() -> None:
    """Two biases that are trained move twice as far as their sum would."""
    text = """
import keras
from keras import layers

inputs = keras.Input(shape=(7, 4))
outputs = layers.Dense(3)(layers.LSTM(5, name="lstm")(inputs))
model = keras.Model(inputs, outputs)
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, labels)
"""
    network = network_read(text, "tensorflow")
    (layer,) = [layer for layer in network.layers if layer.kind == "recurrent"]
    assert (layer.settings["bias"], layer.settings["state_bias"]) == (True, False)
    torch = written(network, "torch")
    assert ".bias_hh_l0).requires_grad_(False)" in torch
    assert "bias_hh_attr=False)" in written(network, "paddle")
    assert f"what the weights of {layer.name} start from is not carried" in network.notes


TWO = of("two").text
_CLASSES = "            loss_class ="
NOT_SUMS = {
    "an unknown loss": ("F.mse_loss(value.squeeze(-1), values)", "own(value, values)"),
    "a loss with a setting": (
        "F.cross_entropy(logits, classes)",
        "F.cross_entropy(logits, classes, label_smoothing=0.1)",
    ),
    "a weight that is learned": ("0.5 * loss_value", "model.weight * loss_value"),
    "labels that are computed": ("squeeze(-1), values)", "squeeze(-1), values / 2)"),
    "a sum of rows": ("squeeze(-1), values)", 'squeeze(-1), values, reduction="sum")'),
    "a sum of classes": ("logits, classes)", 'logits, classes, reduction="sum")'),
    "a sum of an object": (
        "F.cross_entropy(logits, classes)",
        'nn.CrossEntropyLoss(reduction="sum")(logits, classes)',
    ),
    "a third loss": (
        "            optimizer.zero",
        "            loss += penalty\n            optimizer.zero",
    ),
    "outputs that are scaled": (_CLASSES, "            value *= 0.5\n" + _CLASSES),
    "outputs that are scaled in place": (_CLASSES, "            value.mul_(0.5)\n" + _CLASSES),
    "outputs that are sometimes scaled": (
        _CLASSES,
        "            if scaled:\n                value = value * 0.5\n" + _CLASSES,
    ),
    "labels that are scaled": (_CLASSES, "            values /= 10\n" + _CLASSES),
}


@pytest.mark.parametrize(("old", "new"), NOT_SUMS.values(), ids=NOT_SUMS)
def test_a_sum_of_something_else_is_left_to_the_user(old: str, new: str) -> None:
    assert TWO.count(old) == 1
    source = Source("train.py", TWO.replace(old, new))
    across = migrate_across([source], ["paddle"], settings=LENGTH)
    assert "loss.kind" in across.fill_in
    assert "model.factory.paddle" in across.fill_in


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('data["x"]', "np.random.rand(80, 16)", "the rows need "),
        ('data["x"]', "prepared(data)", "the rows need"),
        ("TensorDataset(x, y)", "TensorDataset(x)", "a row has 1 arrays, not x, labels"),
        ("dataset =", "x /= 255\n    dataset =", "the rows need x /= 255"),
        ("dataset =", "x[:, 0] = 0\n    dataset =", "the rows need x[:, 0] = 0"),
        ("dataset =", "x.clamp_(0)\n    dataset =", "the rows need x.clamp_(0)"),
        ("dataset =", "rng.shuffle(x)\n    dataset =", "the rows need rng.shuffle(x)"),
    ],
)
def test_arrays_that_are_not_files_are_left_to_the_user(old: str, new: str, reason: str) -> None:
    text = of("mlp").text.replace(old, new)
    across = migrate_across([Source("train.py", text)], ["jax"], settings=LENGTH)
    assert across.rows is not None
    assert reason in across.rows.reason


def test_methods_of_what_a_function_of_numpy_returns_are_methods() -> None:
    text = of("mlp").text.replace('data["x"]', 'np.load("x.npy").astype(np.float32)')
    across = migrate_across([Source("train.py", text)], ["jax"], settings=LENGTH)
    assert 'np.load("x.npy").astype(np.float32),' in across.files["jax/own_rows.py"].text


def test_that_labels_of_no_class_count_in_a_sum_is_told() -> None:
    across = migrate_across([Source("train.py", TWO)], ["paddle"], settings=LENGTH)
    assert across.loss is not None
    assert "labels of -100" in across.loss.note
    assert "len(outputs.shape) != 2" in across.loss.text("paddle")


def test_types_and_parts_of_arrays_are_kept() -> None:
    text = of("mlp").text.replace(
        'torch.from_numpy(data["x"])', 'torch.tensor(data["x"][:64] / 2, dtype=torch.float32)'
    )
    text = text.replace('torch.from_numpy(data["y"])', 'torch.from_numpy(data["y"]).long()[:64]')
    across = migrate_across([Source("train.py", text)], ["jax"], settings=LENGTH)
    rows = across.files["jax/own_rows.py"].text
    assert 'np.asarray((np.load("data.npz")["x"][:64] / 2), np.float32),' in rows
    assert 'np.load("data.npz")["y"].astype(np.int64)[:64],' in rows
