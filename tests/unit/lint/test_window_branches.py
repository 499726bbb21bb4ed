"""Windows that one branch of a switch leaves out (CL113)."""

from __future__ import annotations

import pytest

from .lint_results import code_lines, codes, swap

BRANCHES = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--grad_accum", type=int, default=4)
args = parser.parse_args()
scaler = torch.amp.GradScaler("cuda")
for step, (x, y) in enumerate(loader):
    if args.amp:
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    else:
        loss = torch.nn.functional.cross_entropy(model(x), y) / args.grad_accum
        loss.backward()
        if (step + 1) % args.grad_accum == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_half_precision_without_windows() -> None:
    assert "CL113:15" in code_lines(BRANCHES)
    assert "CL113" in codes(swap(BRANCHES, ("if args.amp:", "if scaler is not None:")))


@pytest.mark.parametrize(
    "pairs",
    [
        # both branches have windows
        [
            (
                "        scaler.step(optimizer)\n        scaler.update()\n"
                "        optimizer.zero_grad()\n",
                "        if (step + 1) % args.grad_accum == 0:\n"
                "            scaler.step(optimizer)\n            scaler.update()\n"
                "            optimizer.zero_grad()\n",
            )
        ],
        # the branch for windows of one
        [("if args.amp:", "if args.grad_accum == 1:")],
        # windows are asked about on the branch itself
        [
            (
                "        scaler.step(optimizer)\n        scaler.update()\n"
                "        optimizer.zero_grad()\n",
                "        if args.windows:\n"
                "            if (step + 1) % args.grad_accum == 0:\n"
                "                scaler.step(optimizer)\n                scaler.update()\n"
                "                optimizer.zero_grad()\n"
                "        else:\n            scaler.step(optimizer)\n"
                "            scaler.update()\n            optimizer.zero_grad()\n",
            )
        ],
        # another way to train
        [("if args.amp:", "if args.second_order:")],
        # refused before
        [
            (
                "scaler = ",
                'if args.amp and args.grad_accum > 1:\n    parser.error("not both")\nscaler = ',
            )
        ],
        # no window is meant
        [("% args.grad_accum", "% args.log_every"), ("/ args.grad_accum", "/ 1")],
    ],
)
def test_branches_that_may_differ(pairs: list[tuple[str, str]]) -> None:
    assert "CL113" not in codes(swap(BRANCHES, *pairs))
