"""What a step computes of outputs and labels: in the model, in the recipe, or told."""

from __future__ import annotations

import pytest

from carried_models import network_read
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
DENSE = "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, {units}))\n"
PIXELS = "model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1))\n"
TOKENS = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, ids):
        return self.head(self.embedding(ids))


model = Tagger()
"""
ROWS = """
import numpy as np


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return np.zeros((3, 4, 4), "float32"), np.full((4, 4), 255, "uint8")


loader = torch.utils.data.DataLoader(Rows(), batch_size=2, shuffle=True, drop_last=True)
"""
LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""
SETTINGS = {"schedule.total_steps": 10, "batch.micro_batch_size": 8}


def moved(model: str, loss: str, rows: str = "", target: str = "paddle") -> CrossMigration:
    text = HEAD + model + rows + LOOP.format(loss=loss)
    return migrate_across([Source("train.py", text)], [target], settings=SETTINGS)


def kinds(model: str, loss: str) -> list[str]:
    network = network_read(HEAD + model + LOOP.format(loss=loss), "torch")
    return [network.kind_of(step) for step in network.steps]


@pytest.mark.parametrize(
    ("loss", "last"),
    [
        ("F.mse_loss(model(x).squeeze(1), labels)", "squeeze"),
        ("F.mse_loss(torch.squeeze(model(x), 1), labels)", "squeeze"),
        ("F.mse_loss(model(x)[:, 0], labels)", "part"),
        ("F.mse_loss(torch.tanh(model(x)), labels)", "tanh"),
        ("F.cross_entropy(torch.softmax(model(x), dim=1), labels)", "softmax"),
    ],
)
def test_an_operation_between_model_and_loss_is_the_last_of_the_model(loss: str, last: str) -> None:
    assert kinds(DENSE.format(units=3), loss)[-1] == last


def test_the_sigmoid_before_the_loss_is_part_of_it() -> None:
    across = moved(DENSE.format(units=1), "F.binary_cross_entropy(torch.sigmoid(model(x)), labels)")
    assert across.recipe.loss.kind == "binary_cross_entropy"
    assert "sigmoid" not in across.files["paddle/own_model.py"].text
    assert "loss.kind" not in across.fill_in


def test_classes_of_pixels_are_on_the_last_axis_and_count_one_by_one() -> None:
    across = moved(PIXELS, "F.cross_entropy(model(x), labels)")
    assert across.recipe.accumulation.normalize_by == "token"
    assert "accumulation.normalize_by" not in across.fill_in
    assert "return x.transpose((0, 2, 3, 1))" in across.files["paddle/own_model.py"].text


def test_an_error_of_pixels_stays_the_mean_of_rows() -> None:
    across = moved(PIXELS, "F.mse_loss(model(x), labels)")
    assert across.recipe.accumulation.normalize_by == "sample"
    assert "transpose" not in across.files["paddle/own_model.py"].text


def test_labels_that_are_joined_to_rows_count_one_by_one() -> None:
    loss = "F.cross_entropy(model(x).view(-1, 5), labels.view(-1))"
    across = moved(TOKENS, loss)
    assert across.recipe.accumulation.normalize_by == "token"
    assert "reshape" not in across.files["paddle/own_model.py"].text
    assert not [d for d in across.diagnostics if d.code == "CC935"]


def test_whether_tokens_have_labels_is_asked_where_it_is_not_known() -> None:
    across = moved(TOKENS, "F.cross_entropy(model(x), labels)")
    assert "accumulation.normalize_by" in across.fill_in
    across = moved(DENSE.format(units=3), "F.cross_entropy(model(x), labels)")
    assert "accumulation.normalize_by" not in across.fill_in


def test_rows_have_the_label_of_recipes_for_one_that_counts_for_nothing() -> None:
    loss = "F.cross_entropy(model(x), labels, ignore_index=255)"
    across = moved(PIXELS, loss, ROWS)
    assert "np.where(labels == 255, -100, labels)" in across.files["paddle/own_rows.py"].text
    assert across.recipe.accumulation.normalize_by == "token"
    assert not [d for d in across.diagnostics if d.code == "CC911"]
    without = moved(PIXELS, loss)
    assert [d.path for d in without.diagnostics if d.code == "CC911"] == ["loss.target"]


@pytest.mark.parametrize(
    "labels", ["labels - 1", "labels.unsqueeze(1)", "F.one_hot(labels, 3).float()", "1 - labels"]
)
def test_what_the_loss_takes_for_labels_is_told(labels: str) -> None:
    across = moved(DENSE.format(units=3), f"F.mse_loss(model(x), {labels})")
    (message,) = [d.message for d in across.diagnostics if d.code == "CC935"]
    assert f"the loss takes {labels}" in message


@pytest.mark.parametrize("labels", ["labels", "labels.float()", "labels.to(device).view(-1)"])
def test_labels_of_another_type_or_place_are_the_labels(labels: str) -> None:
    across = moved(DENSE.format(units=3), f"F.mse_loss(model(x), {labels})")
    assert not [d for d in across.diagnostics if d.code == "CC935"]


SPARES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.fc(x))


model = Net()
words = {words}
groups = [
    {{
        "params": [p for n, p in model.named_parameters() if not any(w in n for w in words)],
        "weight_decay": 0.01,
    }},
    {{
        "params": [p for n, p in model.named_parameters() if any(w in n for w in words)],
        "weight_decay": 0.0,
    }},
]
"""


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ('["bias", "LayerNorm.weight"]', "norm.weight, which the source decays, is spared"),
        ('["bias", "norm.weight", "fc"]', "fc.weight, which the source spares, is not spared"),
        ('["bias", "norm.weight"]', ""),
    ],
)
def test_weights_that_are_spared_by_other_names_are_told(words: str, other: str) -> None:
    loop = LOOP.replace("torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.AdamW(groups)")
    text = HEAD + SPARES.format(words=words) + loop.format(loss="F.cross_entropy(model(x), labels)")
    across = migrate_across([Source("train.py", text)], ["paddle"], settings=SETTINGS)
    found = [d.message for d in across.diagnostics if d.code == "CC936"]
    assert bool(found) == bool(other)
    assert other in "".join(found)
