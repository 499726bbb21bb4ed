"""CM102: gradients that are dropped before the step are checked for overflow first, as apex did."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed

LOOP = """\
import torch
from apex import amp


def freeze_last(layers):
    for p in layers:
        p.grad = None


def replace_last(layers):
    for p in layers:
        p.grad = torch.zeros_like(p)


def main(model, last, optimizer, loader):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for inputs in loader:
        optimizer.zero_grad()
        loss = model(inputs).mean()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        {drop}
        optimizer.step()
        {after}
"""


@pytest.mark.parametrize("drop", ["last.weight.grad = None", "freeze_last(last)"])
def test_unscaled_before(drop: str) -> None:
    text = changed("CM102", LOOP.format(drop=drop, after="pass"))
    assert f"        scaler.unscale_(optimizer)\n        {drop}\n" in text


@pytest.mark.parametrize(
    ("drop", "after"),
    [
        ("replace_last(last)", "pass"),
        ("pass", "last.weight.grad = None"),
        ("pass", "freeze_last(last)"),
    ],
)
def test_look_alikes(drop: str, after: str) -> None:
    assert "unscale_" not in changed("CM102", LOOP.format(drop=drop, after=after))
