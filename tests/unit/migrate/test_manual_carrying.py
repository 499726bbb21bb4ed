"""CM105: loops between half weights and their copies may only copy and unscale."""

from __future__ import annotations

import pytest

from crosscast_torch.migration.experimental.manual.examples import MANUAL
from unit.migrate.migrating import changed, refused

LOOP = MANUAL[0].before
UNSCALED = "p.grad.detach().float() / SCALE"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (UNSCALED, "-p.grad.detach().float() / SCALE"),
        (UNSCALED, "p.grad.detach().float().abs() / SCALE"),
        (UNSCALED, "p.grad.detach().float() / SCALE + p"),
        (UNSCALED, "p.grad.detach().float() / SCALE * 0.5"),
        ("p.copy_(master)", "p.copy_(master * 0.9)"),
        ("p.copy_(master)", "p.add_(master)"),
        ("zip(masters, model.parameters()):\n        if", "zip(masters[1:], weights):\n        if"),
        ("if p.grad is not None:", "if p.grad is not None and p.grad.norm() < 3:"),
        ("with torch.no_grad():\n        for", "if step % 2:\n        for"),
        ("Linear(4, 2).cuda().half()\n", "Linear(4, 2)\nif half:\n    model = model.half()\n"),
    ],
)
def test_what_changes_gradients_or_weights_stays(old: str, new: str) -> None:
    assert old in LOOP
    assert "manual half precision" in refused("CM105", LOOP.replace(old, new))


@pytest.mark.parametrize(
    "new",
    [
        "p.grad.data.float() / SCALE",
        "p.grad.detach().clone().to(torch.float32).div(SCALE)",
        "p.grad.float() * (1.0 / SCALE)",
        "p.grad.float() / SCALE if p.grad is not None else None",
    ],
)
def test_other_words_for_the_same(new: str) -> None:
    text = changed("CM105", LOOP.replace(UNSCALED, new))
    assert text == changed("CM105", LOOP)
