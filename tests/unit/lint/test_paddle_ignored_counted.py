"""CL815: which means of cross-entropy count labels that they ignore."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.answers.amp import AMP
from crosscast_reading.lint.engine import lint_sources

_LOSS = "paddle.nn.functional.mse_loss(model(inputs), targets)"
_LABELS = "targets[targets == 0] = -100\n"


def found(loss: str, before: str = "") -> int:
    """Return how often the rule finds something in a loop with a loss."""
    text = AMP.replace(_LOSS, loss).replace("for ", before + "for ", 1)
    assert loss in text
    return [d.code for d in lint_sources([Source("train.py", text)])].count("CL815")


@pytest.mark.parametrize(
    ("arguments", "before"),
    [
        ("ignore_index=-1", ""),
        ("ignore_index=-1, reduction='mean'", ""),
        ("ignore_index=ignored", "ignored = -1\n"),
        ("None, -1", ""),
        ("soft_label=False, ignore_index=-100", ""),
        ("", _LABELS),
    ],
)
def test_found(arguments: str, before: str) -> None:
    assert found(f"paddle.nn.functional.cross_entropy(model(inputs), targets, {arguments})", before)


@pytest.mark.parametrize(
    ("arguments", "before"),
    [
        ("", ""),
        ("ignore_index=0", _LABELS),
        ("ignore_index=255", ""),
        ("ignore_index=-1, reduction='sum'", ""),
        ("ignore_index=-1, reduction='none'", ""),
        ("ignore_index=-1, reduction=how", "how = input()\n"),
        ("soft_label=True", _LABELS),
        ("ignore_index=pad", "pad = int(input())\n"),
    ],
)
def test_left(arguments: str, before: str) -> None:
    loss = f"paddle.nn.functional.cross_entropy(model(inputs), targets, {arguments})"
    assert not found(loss, before)


def test_layers() -> None:
    assert found("paddle.nn.CrossEntropyLoss(ignore_index=-1)(model(inputs), targets)") == 1
    assert not found("paddle.nn.CrossEntropyLoss(ignore_index=1)(model(inputs), targets)")
    assert not found("paddle.nn.NLLLoss(ignore_index=-1)(model(inputs), targets)")


def test_other_frameworks() -> None:
    text = AMP.replace("paddle.nn.functional.mse_loss", "torch.nn.functional.cross_entropy")
    text = "import torch\n" + text.replace("targets)", "targets, ignore_index=-1)")
    assert "CL815" not in [d.code for d in lint_sources([Source("train.py", text)])]
