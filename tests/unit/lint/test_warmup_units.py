"""Warm-ups in epochs where a schedule counts steps (CL503)."""

from __future__ import annotations

import pytest

from .lint_results import code_lines, codes, swap

WARM = """\
import argparse

import torch
from transformers import get_cosine_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--warm", type=float, default=1, help="epochs of the warm-up")
parser.add_argument("--max_steps", type=int, default=1000)
args = parser.parse_args()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = get_cosine_schedule_with_warmup(optimizer, args.warm, args.max_steps)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    schedule.step()
"""


def test_a_warmup_in_epochs() -> None:
    assert "CL503:11" in code_lines(WARM)
    named = swap(WARM, ('warm"', 'warmup_epochs"'), ("args.warm", "args.warmup_epochs"))
    assert "CL503" in codes(swap(named, (', help="epochs of the warm-up"', "")))
    of_batches = swap(WARM, ("args.max_steps)", "len(loader) * args.max_steps)"))
    assert "CL503" in codes(of_batches)


@pytest.mark.parametrize(
    "pairs",
    [
        [("epochs of the warm-up", "steps of the warm-up")],
        [("epochs of the warm-up", "epochs of the warm-up, or steps if above 100")],
        [("optimizer, args.warm,", "optimizer, args.warm * len(loader),")],
        [("optimizer =", "args.warm *= len(loader)\noptimizer =")],
        [
            ("max_steps", "epochs"),
            ("    schedule.step()", "schedule.step()"),
        ],
        [("from transformers", "from ours")],
    ],
)
def test_warmups_in_steps(pairs: list[tuple[str, str]]) -> None:
    assert "CL503" not in codes(swap(WARM, *pairs))


OWN = """\
def make(optimizer, warmup_steps, total_steps, steps_per_epoch=1):
    return Schedule(optimizer, warmup_steps * steps_per_epoch, total_steps)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("warmup_steps=args.warm, total_steps=args.max_steps", True),
        ("warmup_steps=args.warm, steps_per_epoch=len(loader)", False),
        ("warmup_steps=args.warm, epochs=args.epochs, batch_size=args.batches", False),
        ("warmup_steps=args.warm, total_steps=args.max_steps, batch_size=8", False),
    ],
)
def test_schedules_that_convert(given: str, found: bool) -> None:
    call = "get_cosine_schedule_with_warmup(optimizer, args.warm, args.max_steps)"
    text = swap(WARM, (call, f"elsewhere.make(optimizer, {given})"))
    assert ("CL503" in codes(text)) is found


def test_a_parameter_that_is_not_given() -> None:
    call = "get_cosine_schedule_with_warmup(optimizer"
    text = swap(WARM, ("parser =", f"{OWN}parser ="), (call, "make(optimizer"))
    assert "CL503" not in codes(text)
    alone = swap(text, (", steps_per_epoch=1", ""), (" * steps_per_epoch", ""))
    assert "CL503" in codes(alone)
