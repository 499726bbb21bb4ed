"""The four classic mistakes of an accumulation script, each named exactly, in several styles."""

from __future__ import annotations

import pytest

from reading_helpers.lint_results import code_lines, repaired, swap

SCRIPT = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--accumulation_steps", type=int, default=4)
args = parser.parse_args()

model = nn.Linear(16, 4).cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")

for epoch in range(3):
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs.cuda()), targets.cuda())
            loss = loss / args.accumulation_steps
        scaler.scale(loss).backward()
        if (step + 1) % args.accumulation_steps == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
FUNCTION = """\
import torch
import torch.nn.functional as F


def backward(loss, scaler):
    scaler.scale(loss).backward()


def update(model, optimizer, scaler):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()


def train(model, loader, accumulation=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.cuda.amp.GradScaler()
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader, start=1):
        with torch.cuda.amp.autocast():
            loss = F.cross_entropy(model(inputs), targets)
        loss = loss / accumulation
        backward(loss, scaler)
        if step % accumulation == 0:
            update(model, optimizer, scaler)
            optimizer.zero_grad()
"""
CLASS = """\
import torch


class Trainer:
    def __init__(self, model, loader, steps):
        self.model = model
        self.loader = loader
        self.steps = steps
        self.criterion = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self):
        self.optimizer.zero_grad()
        for i, (inputs, targets) in enumerate(self.loader):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.criterion(self.model(inputs), targets) / self.steps
            self.scaler.scale(loss).backward()
            if (i + 1) % self.steps == 0:
                self.step()

    def step(self):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
"""


def test_nothing_is_said_to_the_clean_scripts() -> None:
    assert code_lines(SCRIPT) == ["CL106:22"]  # a note about batches that are left over
    assert code_lines(FUNCTION) == []
    assert code_lines(CLASS) == []


UNDIVIDED = (
    (SCRIPT, "            loss = loss / args.accumulation_steps\n", "", 20),
    (FUNCTION, "        loss = loss / accumulation\n", "", 6),
    (CLASS, " / self.steps\n", "\n", 18),
)


@pytest.mark.parametrize(("script", "old", "new", "line"), UNDIVIDED)
def test_undivided_loss(script: str, old: str, new: str, line: int) -> None:
    found = [text for text in code_lines(swap(script, (old, new))) if not text.startswith("CL106")]
    assert found == [f"CL101:{line}"]


CLIPPED = (
    (SCRIPT, "            scaler.unscale_(optimizer)\n", 23),
    (FUNCTION, "    scaler.unscale_(optimizer)\n", 10),
    (CLASS, "        self.scaler.unscale_(self.optimizer)\n", 23),
)


@pytest.mark.parametrize(("script", "line", "number"), CLIPPED)
def test_clip_without_unscale(script: str, line: str, number: int) -> None:
    broken = swap(script, (line, ""))
    found = [text for text in code_lines(broken) if not text.startswith("CL106")]
    assert found == [f"CL301:{number}"]
    assert repaired(broken, "CL301") == script


def test_no_zero_grad() -> None:
    bare = swap(SCRIPT, ("            optimizer.zero_grad()\n", ""))
    assert code_lines(bare) == ["CL106:22", "CL107:25"]
    none = swap(bare, ("    optimizer.zero_grad()\n", ""))
    assert [line for line in code_lines(none) if line != "CL105:21"] == ["CL107:24"]
    assert code_lines(swap(FUNCTION, ("            optimizer.zero_grad()\n", ""))) == ["CL107:12"]
    bare = swap(
        CLASS,
        (
            "        self.scaler.update()\n        self.optimizer.zero_grad()\n",
            "        self.scaler.update()\n",
        ),
    )
    assert code_lines(bare) == ["CL107:25"]


BOUNDARY = (
    (SCRIPT, "(step + 1) % args", "step % args", 22),
    (FUNCTION, ", start=1)", ")", 25),
    (CLASS, "(i + 1) % self", "i % self", 19),
)


@pytest.mark.parametrize(("script", "old", "new", "line"), BOUNDARY)
def test_boundary_off_by_one(script: str, old: str, new: str, line: int) -> None:
    broken = swap(script, (old, new))
    found = [text for text in code_lines(broken) if not text.startswith("CL106")]
    assert found == [f"CL104:{line}"]
    fixed = repaired(broken, "CL104")
    assert [text for text in code_lines(fixed) if not text.startswith("CL106")] == []
    if "(step + 1) %" in script or "(i + 1)" in script:
        assert fixed == script


def test_repairs_are_idempotent() -> None:
    broken = swap(
        SCRIPT, ("            scaler.unscale_(optimizer)\n", ""), ("(step + 1) %", "step %")
    )
    fixed = repaired(broken, "CL301", "CL104")
    assert fixed == SCRIPT
    assert repaired(fixed, "CL301", "CL104") == fixed
