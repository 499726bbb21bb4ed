"""Optimizers of two branches of a PyTorch program."""

from __future__ import annotations

from crosscast_torch.reading.optimizers import READER
from reading_helpers.torch_programs import STEP, facts_of, read_by

ARGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", default=3e-4, type=float)
parser.add_argument("--optim", default="adam")
parser.add_argument("--fused", action="store_true")
args = parser.parse_args()
"""


def test_branches_are_two_optimizers() -> None:
    text = ARGS + (
        "if args.optim == 'adam':\n"
        "    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)\n"
        "else:\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, nesterov=True)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of optimizer"] == "adam"
    assert found["optimizer.name of optimizer (SGD)"] == "sgd"
    assert found["optimizer.nesterov of optimizer (SGD)"] == "yes"
    conditions = {f.under for f in facts_of(READER, text + STEP) if f.field == "optimizer.name"}
    assert len(conditions) == 2
