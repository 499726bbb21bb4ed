"""What steps of a source do that those of a recipe do not: each of it is a warning."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across

PROGRAM = """
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.fc(x))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    for x, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), labels)
        loss.backward()
        optimizer.step()
    model.eval()
"""
STEP = "        optimizer.zero_grad()\n"
BACKWARD = "        loss.backward()\n"
TRAIN = "    model.train()\n"
LEAVES = f"        if loss > 10:\n            continue\n{BACKWARD}"
TOLD = {
    ("(model.parameters()", "(model.fc.parameters()"): "trains model.fc alone",
    (STEP, f"{STEP}        model.eval()\n"): "trained in evaluation mode",
    (TRAIN, f"{TRAIN}    model.norm.eval()\n"): "model.norm is in evaluation",
    (BACKWARD, LEAVES): "leaves out some batches",
}
NOT_TOLD = [
    ("", ""),
    ("(model.parameters()", "(model.module.parameters()"),
    (STEP, f"{STEP}        model.eval()\n        model.train()\n"),
    (BACKWARD, f"{BACKWARD}        if loss > 10:\n            continue\n"),
    ("(model.parameters()", "(other.fc.parameters()"),
]


def moved(old: str, new: str) -> CrossMigration:
    assert old in PROGRAM
    settings = {"schedule.total_steps": 10, "batch.micro_batch_size": 8}
    text = PROGRAM.replace(old, new, 1) if old else PROGRAM
    return migrate_across([Source("train.py", text)], ["paddle"], settings=settings)


def told(across: CrossMigration) -> list[str]:
    return [d.message for d in across.diagnostics if d.code == "CC938"]


@pytest.mark.parametrize(("change", "message"), TOLD.items())
def test_it_is_a_warning(change: tuple[str, str], message: str) -> None:
    (found,) = told(moved(*change))
    assert message in found


@pytest.mark.parametrize(("old", "new"), NOT_TOLD)
def test_look_alikes_are_none(old: str, new: str) -> None:
    assert not told(moved(old, new))


def test_the_sum_of_a_batch_is_not_taken_for_its_mean() -> None:
    by = "accumulation.normalize_by"
    assert by in moved("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="sum")').fill_in
    assert by not in moved("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="mean")').fill_in


@pytest.mark.parametrize(
    ("rate", "left"),
    [("group['lr'] *= 0.99", True), ("group['lr'] /= 2", True), ("group['betas'] = pair", False)],
)
def test_a_rate_that_is_multiplied_in_the_loop_is_no_constant_one(rate: str, left: bool) -> None:
    lines = f"        for group in optimizer.param_groups:\n            {rate}\n"
    across = moved("        optimizer.step()\n", f"        optimizer.step()\n{lines}")
    assert ("schedule.name" in across.fill_in) == left


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (STEP, f"        x = F.normalize(x)\n{STEP}", "the loop computes x = F.normalize(x)"),
        ("model(x)", "model(x + 0.1)", "the model gets x + 0.1"),
        (STEP, f"        x = x.to(device)\n{STEP}", ""),
        (STEP, f"        x = x.cuda().float()\n{STEP}", ""),
    ],
)
def test_what_the_model_gets_of_a_batch_is_told(old: str, new: str, message: str) -> None:
    found = [d.message for d in moved(old, new).diagnostics if d.code == "CC935"]
    assert bool(found) == bool(message)
    assert message in "".join(found)
