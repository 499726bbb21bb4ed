"""Windows whose counter runs on from one epoch into the next."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.rules.accumulation.window_spans_epochs import RULE

from .lint_results import swap

CLEARED = RULE.wrong
KEPT = swap(CLEARED, ("    optimizer.zero_grad()\n    for", "    for"))


def found(text: str) -> list[str]:
    """Return codes with severities."""
    return [
        f"{finding.code} {finding.severity.value}"
        for finding in lint_sources([Source("train.py", text)])
    ]


def test_cleared_gradients() -> None:
    assert found(CLEARED) == ["CL118 warning"]
    grown = swap(
        CLEARED, ("    optimizer.zero_grad()\n    for", "    if grow:\n        grown()\n    for")
    )
    assert found(grown) == ["CL118 note"]


def test_kept_gradients() -> None:
    assert found(KEPT) == ["CL118 note"]


def test_cleared_around_several_loaders() -> None:
    text = swap(
        CLEARED,
        (
            "    for inputs, targets in loader:",
            "    for loader in loaders:\n     for inputs, targets in loader:",
        ),
    )
    assert found(text) == ["CL118 warning"]


def test_in_a_method() -> None:
    text = """
import torch

class Trainer:
    def __init__(self, model, optimizer, n):
        self.model, self.optimizer, self.n = model, optimizer, n
        self.batches = 0

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.optimizer.zero_grad()
            for x, y in loader:
                loss = torch.nn.functional.mse_loss(self.model(x), y) / self.n
                loss.backward()
                self.batches += 1
                if self.batches % self.n == 0:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
"""
    assert found(text) == ["CL118 warning"]


CLOSED = swap(
    CLEARED,
    (
        "            optimizer.zero_grad()\n",
        "            optimizer.zero_grad()\n    optimizer.step()\n",
    ),
)


def test_closed_by_the_end_of_an_epoch() -> None:
    assert found(CLOSED) == ["CL118 warning"]
    asked = swap(
        CLOSED, ("\n    optimizer.step()", "\n    if seen % steps:\n        optimizer.step()")
    )
    assert found(asked) == ["CL118 warning"]


@pytest.mark.parametrize(
    "pairs",
    [
        # the counter starts again
        [("    for inputs", "    seen = 0\n    for inputs")],
        [("\n    optimizer.step()", "\n    optimizer.step()\n    seen = 0")],
        # of the run, not of an epoch
        [("\n    optimizer.step()", "\noptimizer.step()")],
        # of another optimizer
        [("\n    optimizer.step()", "\n    other.step()")],
    ],
)
def test_closed_otherwise(pairs: list[tuple[str, str]]) -> None:
    findings = lint_sources([Source("train.py", swap(CLOSED, *pairs))])
    assert not any("is short, too" in finding.message for finding in findings)


@pytest.mark.parametrize(
    "pairs",
    [
        # the counter starts again
        [("    for inputs", "    seen = 0\n    for inputs")],
        # windows of one micro-batch
        [("steps = 4", "steps = 1"), ("/ steps", ""), ("% steps", "% 1")],
        # the last batch is asked about
        [("if seen % steps == 0", "if seen % steps == 0 or seen % len(loader) == 0")],
        # one long run without epochs
        [
            (
                "for epoch in range(3):\n    optimizer.zero_grad()\n",
                "if True:\n    optimizer.zero_grad()\n",
            ),
        ],
        # the epoch ends after whole windows
        [
            (
                "        loss = ",
                "        if seen % per_epoch == per_epoch - 1:\n            break\n        loss = ",
            )
        ],
        # a library asks for the closing
        [("% steps == 0", "% steps == 0 or last")],
    ],
)
def test_windows_that_do_not(pairs: list[tuple[str, str]]) -> None:
    assert not any("CL118" in codes for codes in found(swap(CLEARED, *pairs)))
