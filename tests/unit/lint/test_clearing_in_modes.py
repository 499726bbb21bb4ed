"""Gradients that only one mode of a program clears (CL107)."""

from __future__ import annotations

import pytest

from .lint_results import code_lines, codes, swap

ACCUMULATION = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
for step, (inputs, labels) in enumerate(loader):
    loss = criterion(model(inputs), labels)
    if args.accumulate:
        (loss / 4).backward()
        if (step + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    else:
        loss.backward()
        optimizer.step()
"""
AMP = """\
import torch


class Trainer:
    def __init__(self, model, use_amp=False):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.use_amp = use_amp
        self.scaler = torch.amp.GradScaler("cuda") if use_amp else None

    def plain_step(self, loss):
        loss.backward()
        self.optimizer.step()

    def train(self, loader):
        for inputs, labels in loader:
            if self.scaler is not None:
                self.optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
                self.plain_step(loss)
"""
PADDLE = """\
import paddle

optimizer = paddle.optimizer.SGD(parameters=model.parameters())
scaler = paddle.amp.GradScaler()
for inputs, labels in loader:
    if args.use_amp:
        with paddle.amp.auto_cast():
            loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    else:
        loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
"""
LAST = "        loss.backward()\n        optimizer.step()\n"


@pytest.mark.parametrize(
    ("text", "line"), [(ACCUMULATION, 15), (AMP, 13), (PADDLE, 16)], ids=["window", "amp", "paddle"]
)
def test_one_mode_never_clears(text: str, line: int) -> None:
    assert f"CL107:{line}" in code_lines(text)


def test_the_accumulating_mode_never_clears() -> None:
    text = swap(
        ACCUMULATION,
        ("            optimizer.zero_grad()\n", ""),
        (LAST, f"        optimizer.zero_grad()\n{LAST}"),
    )
    assert "CL107:11" in code_lines(text)


def test_modes_in_loops_of_epochs() -> None:
    head, _, body = ACCUMULATION.partition("for step")
    body = "".join(f"    {line}\n" for line in f"for step{body}".splitlines())
    assert "CL107" in codes(f"{head}for epoch in range(3):\n{body}")


@pytest.mark.parametrize(
    "pairs",
    [
        ((LAST, f"{LAST}        optimizer.zero_grad()\n"),),
        ((LAST, f"        optimizer.zero_grad()\n{LAST}"),),
        (
            (
                "    loss = crit",
                "    if not args.accumulate:\n        model.zero_grad()\n    loss = crit",
            ),
        ),
        ((LAST, f"{LAST}    if not args.accumulate:\n        optimizer.zero_grad()\n"),),
        # The condition changes from round to round: gradients are cleared in other rounds.
        (("if args.accumulate", "if step < 100"),),
        (("if args.accumulate", "if inputs.shape[0] == 4"),),
        (("if args.accumulate", "if loss.item() > 1"),),
        (("if args.accumulate", "if random.random() < 0.5"),),
        (("    if args.accumulate", "    more = step % 2\n    if more"),),
        (("    loss = crit", "    args.accumulate = step > 10\n    loss = crit"),),
        ((LAST, f"{LAST}        break\n"),),
        ((LAST, f"{LAST}        finish(optimizer)\n"),),
        ((LAST, "        loss.backward()\n"),),
    ],
)
def test_gradients_are_cleared_in_both_modes(pairs: tuple[tuple[str, str], ...]) -> None:
    assert "CL107" not in codes(swap(ACCUMULATION, *pairs))


@pytest.mark.parametrize(
    "pair",
    [
        (
            "        self.optimizer.step()\n",
            "        self.optimizer.step()\n        self.clear()\n",
        ),
        (
            "    def plain_step(self, loss):\n",
            "    def plain_step(self, loss):\n        self.optimizer.zero_grad()\n",
        ),
        (
            "    def train(self",
            "    def turn(self):\n        self.scaler = None\n\n    def train(self",
        ),
    ],
)
def test_modes_of_a_class_that_clear_or_change(pair: tuple[str, str]) -> None:
    text = swap(AMP, pair)
    clears = "\n    def clear(self):\n        for p in self.model.parameters():\n"
    clears += "            p.grad = None\n"
    assert "CL107" not in codes(text + clears if "clear()" in text else text)


def test_a_mode_that_the_caller_changes_in_each_round() -> None:
    text = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(loss, last):
    loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
    else:
        optimizer.step()


for number, (inputs, labels) in enumerate(loader):
    step(torch.nn.functional.cross_entropy(model(inputs), labels), number % 4 == 3)
"""
    assert "CL107" not in codes(text)
    assert "CL107" in codes(swap(text, ("number % 4 == 3", "args.last")))
