"""Attention, recurrent layers, sums of losses and arrays across frameworks; what is refused."""

from __future__ import annotations

import pytest

from across_programs import PROGRAMS, Program
from carried_models import BACKENDS, Case, network_read
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.models.network import Initial, Network, UnreadableError
from crosscast_migrate.models.writing import written

LENGTH = {"schedule.total_steps": 20}


def of(name: str) -> Program:
    return next(program for program in PROGRAMS if program.name == name)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_carried_whole(program: Program) -> None:
    """Its updates in every framework: tests/frameworks/test_across_programs.py."""
    across = program.migrated(BACKENDS)
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
        "nn.MultiheadAttention(8, 2, batch_first=True)",
        "x, _ = self.layer(x, x, x, attn_mask=tokens)",
    ): "a mask that may be true and false or numbers",
    (
        "nn.MultiheadAttention(8, 2, batch_first=True)",
        "x, _ = self.layer(x, x, x, attn_mask=torch.ones(4, 4, dtype=torch.int64))",
    ): "a mask that may be true and false or numbers",
    (
        "nn.TransformerEncoder(build(8), 2)",
        "x = self.layer(x)",
    ): "build is not known",
    ("nn.Linear(8, 8)", "x = x.permute(1, 0, 2).softmax(0)"): "the rows on their second axis",
    ("nn.Linear(8, 8)", "x = x + torch.rand(8)"): "is not known",
    ("nn.Linear(8, 8)", "x = x[tokens]"): "this part of a value",
    ("nn.Linear(8, 8)", "x = x.split(3, dim=2)[0]"): "no size is known",
    ("nn.Linear(8, 8)", "i = torch.where(tokens == 0); x = x + i"): "input is missing",
    ("nn.Linear(8, 8)", "x = x + torch.range(1, 8)"): "torch.range(1, 8) is not known",
    (
        "nn.Linear(8, 8)",
        "x = x.masked_fill(torch.ones(8, dtype=torch.uint8), 0.0)",
    ): "numbers of a type that is not carried",
    (
        "nn.Linear(8, 8)",
        "x = torch.cat([torch.zeros(1, 1, 8).expand(x.size(0), 7, -1), x], dim=1)",
    ): "repeated along other axes",
    (
        "nn.Linear(8, 8)",
        "x = (x.permute(1, 0, 2) + torch.arange(8 * 4).view(4, 8)).permute(1, 0, 2)",
    ): "one number for every row",
}


@pytest.mark.parametrize(("made", "reason"), REFUSED.items())
def test_what_means_something_else_is_refused(made: tuple[str, str], reason: str) -> None:
    layer, statement = made
    with pytest.raises(UnreadableError) as refusal:
        network_read(MODEL.format(layer=layer, statement=statement), "torch")
    assert reason in refusal.value.reason


def test_a_mask_that_is_moved_stays_a_mask() -> None:
    attention = "nn.MultiheadAttention(8, 2, batch_first=True)"
    moved = "x, _ = self.layer(x, x, x, (tokens == 0).to(tokens.device))"
    steps = network_read(MODEL.format(layer=attention, statement=moved), "torch").steps
    assert not any(step.kind == "number" for step in steps)
    (attends,) = [step for step in steps if step.kind == "attend"]
    assert not attends.settings["adds"]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ("(~(torch.arange(8) < 3)).long()", "(~(np.arange(8, dtype=np.int64) < 3)).astype("),
        ("torch.tensor([True, False] * 4)", "True, False, True, False), bool)"),
        ("torch.tensor(torch.arange(8), dtype=torch.float32)", ").astype(np.float32)"),
        ("changed(torch.zeros(8))", "np.zeros((8,), np.float32)"),
    ],
)
def test_constants_are_those_of_the_source(made: str, text: str) -> None:
    """A copy may be changed: `changed` changes one of what it returns."""
    program = MODEL.format(layer="nn.Linear(8, 8)", statement="x = x * self.numbers")
    program = program.replace(
        "        self.head", f"        self.numbers = {made}\n        self.head"
    )
    program += """

def changed(numbers):
    copied = numbers.clone()
    copied[0] = 1.0
    return numbers
"""
    (kept,) = [s for s in network_read(program, "torch").steps if s.kind == "constant"]
    assert text in kept.settings["text"]


def test_numbers_beside_rows_on_the_second_axis_stay_as_they_are() -> None:
    """One axis less: they are those of the width, for all rows and steps."""
    added = "x = (x.permute(1, 0, 2) + torch.arange(8.0).unsqueeze(0)).permute(1, 0, 2)"
    network = network_read(MODEL.format(layer="nn.Linear(8, 8)", statement=added), "torch")
    assert [step.kind for step in network.steps if not step.layer] == ["constant", "add", "part"]


def test_the_values_of_a_choice_go_by_their_names() -> None:
    choice = "x = torch.where((tokens == 0).unsqueeze(-1), other=x, input=x * 2)"
    network = network_read(MODEL.format(layer="nn.Linear(8, 8)", statement=choice), "torch")
    (step,) = [step for step in network.steps if step.kind == "choose"]
    (scaled,) = [step.output for step in network.steps if step.kind == "scale"]
    assert step.inputs[1] == scaled


def test_packed_weights_are_drawn_as_one() -> None:
    """A size of the values of its own unpacks them; the size that they have anyway does not."""
    packed = _drawn("nn.MultiheadAttention(8, 2, batch_first=True)", "x")
    assert packed == _drawn("nn.MultiheadAttention(8, 2, vdim=8, batch_first=True)", "x")
    assert packed != _drawn("nn.MultiheadAttention(8, 2, vdim=4, batch_first=True)", "x[..., :4]")


def _drawn(layer: str, values: str) -> Initial | None:
    statement = f"x, _ = self.layer(x, x, {values})"
    network = network_read(MODEL.format(layer=layer, statement=statement), "torch")
    return network.layer("layer_q").initial["weight"]


PADDLE = """
class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiHeadAttention(8, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x, y):
        return self.head(self.attn(x, y).mean(1))


def make():
    return Model()
"""
JAX = """
class Model(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, tokens):
        mask = (tokens != 0)[:, None, None, :]
        x = self.embed(tokens)
        return self.head(self.attn(x, mask=mask)[:, -1])


def make():
    return Model(nnx.Rngs(0))
"""


def _read(framework: str, text: str, **inputs: tuple[int, ...]) -> Network:
    return Case(name="one", framework=framework, text=text, inputs=inputs).network()


def test_values_of_paddle_that_are_not_given_are_the_queries() -> None:
    """In Flax they are the keys, as the keys are the values in Keras."""
    network = _read("paddle", PADDLE, x=(4, 8), y=(4, 8))
    inputs = {step.layer: step.inputs[0] for step in network.steps if step.layer}
    assert inputs["attn_q"] == inputs["attn_v"] != inputs["attn_k"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("mask=mask", "mask=mask.astype(jnp.float32)", "a mask that may be true and false"),
        ("decode=False", "decode=True", "decode=True of attention"),
        ("decode=False", "dropout_rate=0.1, deterministic=True", "deterministic=True of attention"),
    ],
)
def test_what_flax_means_by_its_arguments_is_refused(old: str, new: str, reason: str) -> None:
    assert _read("jax", JAX, tokens=(4,)).notes == ()
    with pytest.raises(UnreadableError) as refusal:
        _read("jax", JAX.replace(old, new), tokens=(4,))
    assert reason in refusal.value.reason


def test_dropout_that_rows_and_heads_share_is_told() -> None:
    shared = JAX.replace("decode=False", "dropout_rate=0.1")
    (note,) = _read("jax", shared, tokens=(4,)).notes
    assert "for each row and head" in note
    apart = JAX.replace("decode=False", "dropout_rate=0.1, broadcast_dropout=False")
    assert _read("jax", apart, tokens=(4,)).notes == ()


def test_the_size_of_keys_is_theirs() -> None:
    text = """
def make():
    first, second = keras.Input(shape=(7, 4)), keras.Input(shape=(5, 6))
    seen = layers.MultiHeadAttention(num_heads=2, key_dim=3)(first, second)
    outputs = layers.Dense(3)(layers.GlobalAveragePooling1D()(seen))
    return keras.Model(inputs=[first, second], outputs=outputs)
"""
    network = _read("tensorflow", text, x=(7, 4), y=(5, 6))
    assert [layer.settings["inputs"] for layer in network.layers[:3]] == [4, 6, 6]


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
