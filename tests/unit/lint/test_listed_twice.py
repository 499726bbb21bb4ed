"""Lists of optimizers that have one twice (CL516)."""

from __future__ import annotations

import pytest

from .lint_results import codes

MADE = """
import torch

class Trainer:
    def __init__(self, a, b, rate):
        self.optimizer_a = torch.optim.Adam(a.parameters(), lr=rate)
        self.optimizer_b = torch.optim.Adam(b.parameters(), lr=rate)
        self.schedule_a = torch.optim.lr_scheduler.StepLR(self.optimizer_a, 3)
        self.scheduler_b = torch.optim.lr_scheduler.StepLR(self.optimizer_b, 3)
        {line}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("self.optimizers = [self.optimizer_a, self.optimizer_a]", True),
        ("optims = (self.optimizer_b, self.optimizer_b)", True),
        ("schedulers = [self.schedule_a, self.schedule_a]", True),
        ("self.optimizers = [self.optimizer_a, self.optimizer_b]", False),
        ("self.optimizers = [self.optimizer_a, self.optimizer_a, self.optimizer_b]", False),
        ("pairs = [self.optimizer_a, self.optimizer_a]", False),
        ("self.optimizers = [self.optimizer_a]", False),
        ("self.optimizers = [self.optimizer_a, other, other]", False),
    ],
)
def test_lists_of_optimizers(line: str, found: bool) -> None:
    assert ("CL516" in codes(MADE.format(line=line))) is found


def test_one_optimizer_for_two_models() -> None:
    text = """
import torch

optimizer = torch.optim.Adam(weights, lr=1e-3)
optimizers = [optimizer, optimizer]
"""
    assert "CL516" not in codes(text)
