"""Lint and lift follow a loss by one mechanism: what one can tell of it, the other can."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.python.accumulation import READER
from reading_helpers.lint_results import codes
from reading_helpers.torch_programs import read_by


def losses(text: str) -> dict[str, Any]:
    return {path: said for path, said in read_by(READER, text).items() if path == "loss.kind"}


FOLLOWED = {
    "a method that moves it": ("", "F.cross_entropy(model(inputs), labels).cuda()"),
    "a method that changes its type": ("", "F.cross_entropy(model(inputs), labels).double()"),
    "a class of the program": (
        "class Criterion(nn.Module):\n"
        "    def forward(self, outputs, labels):\n"
        "        return F.cross_entropy(outputs, labels)\n",
        "Criterion()(model(inputs), labels)",
    ),
    "a function that calls itself": (
        "def loss_of(inputs, labels):\n"
        "    if inputs is None:\n"
        "        return loss_of(*batch())\n"
        "    return F.cross_entropy(model(inputs), labels)\n",
        "loss_of(inputs, labels)",
    ),
    "a function that is called twice on the way": (
        "def plain(loss):\n    whole = loss.float()\n    return whole\n",
        "plain(plain(F.cross_entropy(model(inputs), labels)))",
    ),
    "a function of the program with the name of a reduction": (
        "class Losses:\n"
        "    def mean(self, outputs, labels):\n"
        "        return F.cross_entropy(outputs, labels)\n"
        "losses = Losses()\n",
        "losses.mean(model(inputs), labels)",
    ),
    "a function that may return nothing": (
        "def loss_of(inputs, labels):\n"
        "    if not len(labels):\n"
        "        return None\n"
        "    return F.cross_entropy(model(inputs), labels)\n",
        "loss_of(inputs, labels)",
    ),
}
WINDOW = """
import torch
from torch import nn
from torch.nn import functional as F

{definition}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for i, (inputs, labels) in enumerate(loader):
    loss = {loss}
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_lint_knows_as_a_mean_lift_knows_by_its_kind(name: str) -> None:
    definition, loss = FOLLOWED[name]
    text = WINDOW.format(definition=definition, loss=loss)
    assert "CL101" in codes(text)
    assert losses(text) == {"loss.kind": "cross_entropy"}


@pytest.mark.parametrize("loss", ["a0(inputs)", "a0(inputs)[0]"])
def test_functions_that_call_each_other_in_many_places(loss: str) -> None:
    functions = [
        f"def a{i}(x):\n"
        + "".join(f"    if x == {k}:\n        return a{i + 1}(x)\n" for k in range(9))
        for i in range(9)
    ]
    text = WINDOW.format(definition="".join(functions), loss=loss)
    assert losses(text) == {"loss.kind": "?"}
    assert "CL101" not in codes(text)


@pytest.mark.parametrize(
    "other", ["F.mse_loss(model(inputs), labels, reduction='sum')", "own(inputs)"]
)
def test_the_other_value_of_a_name_counts_behind_a_function_called_twice(other: str) -> None:
    definition = "def plain(loss):\n    whole = loss.float()\n    return whole\n"
    text = WINDOW.format(definition=definition, loss=f"plain(plain({other}))").replace(
        "    loss.backward()",
        "    if labels.any():\n        loss = F.cross_entropy(a, b)\n    loss.backward()",
    )
    assert losses(text) == {"loss.kind": "?"}
    assert "CL101" not in codes(text)
