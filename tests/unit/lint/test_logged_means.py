"""Losses of a window that only a message averages (CL101)."""

from __future__ import annotations

import pytest

from .lint_results import code_lines, codes, swap

SHOWN = """\
import torch
from ours import penalty

def train(model, loader, accum, optimizer):
    shown = 0.0
    for step, (x, y) in enumerate(loader):
        loss = penalty(model(x), y)
        number = loss.detach().item()
        shown += number
        loss.backward()
        if (step + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
            shown /= accum
            print(shown)
            shown = 0.0
"""


def test_a_mean_that_only_a_message_has() -> None:
    assert "CL101:10" in code_lines(SHOWN)
    inline = swap(
        SHOWN, ("            shown /= accum\n", ""), ("print(shown)", "print(shown / accum)")
    )
    assert "CL101" in codes(inline)
    plain = swap(SHOWN, ("shown += number", "shown += loss.item()"))
    assert "CL101" in codes(plain)


@pytest.mark.parametrize(
    "pairs",
    [
        # a sum, maybe meant
        [("            shown /= accum\n", "")],
        # by something else
        [("shown /= accum", "shown /= len(loader)")],
        # another number
        [("number = loss.detach().item()", "number = (model(x) == y).sum()")],
        # the gradients are divided
        [("penalty(model(x), y)", "penalty(model(x), y) / accum")],
        [
            (
                "            optimizer.step()\n",
                "            for p in model.parameters():\n                p.grad /= accum\n"
                "            optimizer.step()\n",
            )
        ],
        # a sum over the rows
        [("penalty(model(x), y)", "penalty(model(x), y).sum()")],
    ],
)
def test_messages_that_tell_nothing(pairs: list[tuple[str, str]]) -> None:
    assert "CL101" not in codes(swap(SHOWN, *pairs))
