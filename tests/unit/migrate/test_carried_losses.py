"""Losses of libraries without a kind in a recipe: what becomes of them."""

from __future__ import annotations

import ast

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_migrate.losses import FILE, ROWS
from crosscast_reading.readers.python.named_losses import NAMES

TORCH = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 3){last})
criterion = {loss}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), labels)
    loss.backward()
    optimizer.step()
"""
KERAS = """
import keras
from keras import layers

model = keras.Sequential([keras.Input((4,)), layers.Dense(3{last})])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss={loss})
model.fit(x, y, batch_size=8)
"""


def moved(text: str, target: str = "paddle") -> CrossMigration:
    settings = {"schedule.total_steps": 10, "batch.micro_batch_size": 8}
    return migrate_across([Source("train.py", text)], [target], settings=settings)


LOGITS = [
    (TORCH, "nn.NLLLoss()", ", nn.LogSoftmax(dim=1)", "cross_entropy"),
    (TORCH, "F.nll_loss", ", nn.LogSoftmax(dim=-1)", "cross_entropy"),
    (TORCH, "nn.BCELoss()", ", nn.Sigmoid()", "binary_cross_entropy"),
    (KERAS, '"sparse_categorical_crossentropy"', ', activation="softmax"', "cross_entropy"),
    (
        KERAS,
        "keras.losses.SparseCategoricalCrossentropy()",
        ', activation="softmax"',
        "cross_entropy",
    ),
    (KERAS, '"binary_crossentropy"', ', activation="sigmoid"', "binary_cross_entropy"),
]


@pytest.mark.parametrize(("text", "loss", "last", "kind"), LOGITS)
def test_a_loss_of_probabilities_is_that_of_the_logits(
    text: str, loss: str, last: str, kind: str
) -> None:
    across = moved(text.format(loss=loss, last=last))
    assert across.recipe.loss.kind == kind
    assert across.fields["loss.kind"].how == "derived"
    assert "softmax" not in across.files["paddle/own_model.py"].text
    assert "sigmoid" not in across.files["paddle/own_model.py"].text
    assert not [
        path for path in across.fill_in if path.startswith(("loss.", "accumulation.normalize"))
    ]


@pytest.mark.parametrize(("text", "loss", "last", "kind"), LOGITS)
def test_a_model_that_gives_something_else_is_not_corrected(
    text: str, loss: str, last: str, kind: str
) -> None:
    across = moved(text.format(loss=loss, last=""))
    assert "loss.kind" in across.fill_in


FUNCTIONS = [
    (TORCH, "nn.L1Loss()"),
    (TORCH, "nn.SmoothL1Loss()"),
    (TORCH, "nn.HuberLoss(delta=1.0)"),
    (KERAS, '"mae"'),
    (KERAS, "keras.losses.Huber()"),
    (KERAS, "keras.losses.CategoricalCrossentropy(from_logits=True)"),
]


@pytest.mark.parametrize(("text", "loss"), FUNCTIONS)
@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_other_losses_become_a_function(text: str, loss: str, target: str) -> None:
    across = moved(text.format(loss=loss, last=""), target)
    assert across.recipe.loss.kind == "custom"
    names = ast.parse(across.files[f"{target}/{FILE}"].text).body[-1]
    assert isinstance(names, ast.FunctionDef)
    assert names.name == "own_losses"
    assert "own_loss" in across.files[f"{target}/train.py"].text


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        (TORCH, 'nn.L1Loss(reduction="sum")'),
        (TORCH, "nn.NLLLoss(weight=weights)"),
        (TORCH, "nn.SmoothL1Loss(beta=0.5)"),
        (TORCH, "nn.BCELoss(**options)"),
        (TORCH, "nn.CTCLoss()"),
        (KERAS, "keras.losses.Huber(delta=2.0)"),
        (KERAS, "keras.losses.Huber(2.0)"),
        (TORCH, "nn.L1Loss(False)"),
        (KERAS, "own_loss"),
    ],
)
def test_what_means_something_else_stays_to_be_filled_in(text: str, loss: str) -> None:
    across = moved(text.format(loss=loss, last=", nn.LogSoftmax(1)" if text is TORCH else ""))
    assert "loss.kind" in across.fill_in
    assert f"paddle/{FILE}" not in across.files


def test_every_loss_with_a_name_has_a_row() -> None:
    assert ROWS.keys() == NAMES
