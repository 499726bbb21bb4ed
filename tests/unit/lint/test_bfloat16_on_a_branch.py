"""CL207 where a branch or a setting decides that the forward pass is in bfloat16."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

BRANCH = """\
import torch

scaler = torch.amp.GradScaler()
for inputs, targets in loader:
    if args.half:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
"""


def test_a_branch_in_bfloat16() -> None:
    assert "CL207" in codes(BRANCH)


@pytest.mark.parametrize(
    "pair",
    [
        ("torch.bfloat16", "torch.float16"),
        ("torch.bfloat16", "kind"),
        ("GradScaler()", "GradScaler(enabled=args.fp16)"),
        ("dtype=torch.bfloat16", "dtype=torch.bfloat16, enabled=args.bf16"),
    ],
)
def test_branches_that_may_need_a_scaler(pair: tuple[str, str]) -> None:
    assert "CL207" not in codes(swap(BRANCH, pair))


CHOSEN = """\
import torch
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


class Trainer:
    def __init__(self, config):
        self.kind = torch.bfloat16 if config.train.half == "bfloat16" else torch.float16
        self.scaler = ShardedGradScaler() if config.train.amp else None

    def train(self, model, loader, optimizer):
        for inputs, targets in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.kind, enabled=bool(self.scaler)):
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            if self.scaler:
                self.scaler.scale(loss).backward()
                self.scaler.step(optimizer)
                self.scaler.update()
            else:
                loss.backward()
                optimizer.step()
"""


def test_a_setting_that_the_scaler_ignores() -> None:
    assert "CL207" in codes(CHOSEN)


@pytest.mark.parametrize(
    "pair",
    [
        ("if config.train.amp else", 'if config.train.half == "float16" else'),
        ("if config.train.amp else", "if config.train.half else"),
        ("if config.train.amp else", "if needed else"),
        ("ShardedGradScaler()", 'ShardedGradScaler(enabled=config.train.half != "bfloat16")'),
        ("torch.float16", "torch.float32"),
        ("            if self.scaler:", "            if self.scaler and other():"),
    ],
)
def test_scalers_that_may_know_the_type(pair: tuple[str, str]) -> None:
    assert "CL207" not in codes(swap(CHOSEN, pair))
