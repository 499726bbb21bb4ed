"""Autocast around passes without gradients alone (CL406)."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

TWO_PASSES = """
import paddle

def train(model, loader, optimizer, args):
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
    for x, y in loader:
        with paddle.amp.auto_cast(args.half):
            with paddle.no_grad():
                first = model(x)
        second = model(x)
        loss = paddle.nn.functional.mse_loss(second - first, y)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
"""
INSIDE = ("        second =", "        with paddle.amp.auto_cast(args.half):\n            second =")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], True),
        ([INSIDE], False),
        ([("first = model(x)", "first = teacher(x)")], False),
        ([("            with paddle.no_grad():", "            if True:")], False),
        ([("scaler.scale(loss)", "loss"), ("scaler.step(optimizer)", "optimizer.step()")], False),
        (
            [("import paddle\n", "import paddle\n\n@paddle.amp.auto_cast()\ndef run(x): pass\n")],
            False,
        ),
    ],
)
def test_autocast_around_other_passes(changes: list[tuple[str, str]], found: bool) -> None:
    assert ("CL406" in codes(swap(TWO_PASSES, *changes))) is found
