"""Clips within an object that scales the loss, clips and steps (CL306, CL309)."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

MODES = """\
import torch


def one_epoch(model, optimizer, loader, loss_scaler, limit, use_amp=False):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        if use_amp:
            loss_scaler(loss, optimizer, clip_grad=limit, parameters=model.parameters())
        else:
            loss.backward()
            optimizer.step()
"""


def test_a_scaler_of_a_library_that_clips_on_one_path() -> None:
    assert codes(MODES) == {"CL306"}
    assert codes(swap(MODES, ("clip_grad=limit, ", ""))) == set()
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), limit)"
    both = swap(MODES, ("    optimizer.step()", f"    {clip}\n            optimizer.step()"))
    assert codes(both) == set()
    assert codes(swap(MODES, ("limit, use_amp", "limit=0, use_amp"))) == {"CL306", "CL309"}


OWN_SCALER = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--clip", type=float, default=None)
args = parser.parse_args()


class Scaler:
    def __init__(self):
        self.inner = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, limit=None, weights=None):
        self.inner.scale(loss).backward()
        self.inner.unscale_(optimizer)
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(weights, limit)
        self.inner.step(optimizer)
        self.inner.update()


def one_epoch(model, loader, optimizer, scaler, max_norm=0):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler(loss, optimizer, limit=max_norm, weights=model.parameters())


model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    one_epoch(model, loader, optimizer, Scaler(), args.clip)
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("max_norm=0", "max_norm=0.0"), {"CL309"}),
        (("max_norm=0", "max_norm"), set()),
        (("max_norm=0", "max_norm=None"), set()),
        (("max_norm=0", "max_norm=False"), set()),
        (("limit is not None", "limit"), set()),
        (("limit=max_norm", "limit=max_norm or None"), set()),
    ],
)
def test_a_parameter_that_is_zero_if_a_call_leaves_it_out(
    change: tuple[str, str], expected: set[str]
) -> None:
    assert codes(swap(OWN_SCALER, change)) == expected


FUSED = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(4, 2).cuda()
if args.fp16:
    from apex.optimizers import FP16_Optimizer, FusedAdam

    model.half()
    optimizer = FusedAdam(model.parameters(), lr=1e-4, bias_correction=False, max_grad_norm=1.0)
    optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if args.fp16:
        optimizer.backward(loss)
    else:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
PLAIN_ADAM = "torch.optim.Adam(model.parameters(), lr=1e-4)"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("lr=1e-4, bias", "lr=1e-4, bias"), True),
        ((", max_grad_norm=1.0", ""), False),
        (("max_grad_norm=1.0", "max_grad_norm=0.0"), False),
        (("max_grad_norm=1.0", "max_grad_norm=args.limit"), False),
        ((PLAIN_ADAM, "BertAdam(model.parameters(), lr=1e-4)"), False),
        ((PLAIN_ADAM, "FusedAdam(model.parameters(), lr=1e-4, max_grad_norm=1.0)"), False),
        ((PLAIN_ADAM, "build(model)"), False),
        (
            (
                "    optimizer.step()",
                "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()",
            ),
            False,
        ),
        (("if args.fp16:\n    from", "if args.large:\n    from"), False),
    ],
)
def test_an_optimizer_of_apex_that_clips_inside(change: tuple[str, str], found: bool) -> None:
    assert ("CL306" in codes(swap(FUSED, change))) is found
