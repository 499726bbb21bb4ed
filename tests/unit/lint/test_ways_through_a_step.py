"""Rules that look at every way through a training step, not only at the last event before."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

CLIPPED = """\
import torch

scaler = torch.amp.GradScaler() if half else None
for inputs, targets in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets)
    if scaler is not None:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if scaler is not None:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    optimizer.zero_grad()
"""
CLIP = "    torch.nn.utils.clip_grad_norm_"


def test_a_clip_on_the_way_with_a_scaler() -> None:
    assert "CL301" in codes(CLIPPED)


@pytest.mark.parametrize(
    "pair",
    [
        (CLIP, "    if scaler is not None:\n        scaler.unscale_(optimizer)\n" + CLIP),
        (CLIP, "    if scaler is None:\n    " + CLIP),
        (CLIP, "    if scaler is not None:\n        other.step()\n        continue\n" + CLIP),
    ],
)
def test_clips_of_true_gradients(pair: tuple[str, str]) -> None:
    assert "CL301" not in codes(swap(CLIPPED, pair))


SLICES = """\
import torch

for inputs, targets in loader:
    optimizer.zero_grad()
    for j in range(0, len(inputs), size):
        loss = criterion(model(inputs[j : j + size]), targets[j : j + size]) * size / rows
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""


def test_a_clip_in_the_loop_over_slices() -> None:
    assert "CL303" in codes(SLICES)


@pytest.mark.parametrize(
    "pair",
    [
        ("        torch.nn", "        if j + size >= len(inputs):\n            torch.nn"),
        ("        torch.nn", "    torch.nn"),
        ("    optimizer.step()", "        optimizer.step()"),
    ],
)
def test_clips_of_whole_sums(pair: tuple[str, str]) -> None:
    assert "CL303" not in codes(swap(SLICES, pair))


ACCELERATED = """\
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for inputs, targets in loader:
    with accelerator.accumulate(model):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
"""


def test_gradients_cleared_as_the_last_micro_batch_begins() -> None:
    assert "CL108" in codes(ACCELERATED)


@pytest.mark.parametrize(
    "pairs",
    [
        (("gradient_accumulation_steps=4", ""),),
        (("gradient_accumulation_steps=4", "gradient_accumulation_steps=1"),),
        (
            ("        optimizer.zero_grad()\n", ""),
            (
                "        optimizer.step()\n",
                "        optimizer.step()\n        optimizer.zero_grad()\n",
            ),
        ),
    ],
)
def test_gradients_cleared_where_nothing_is_lost(pairs: tuple[tuple[str, str], ...]) -> None:
    assert "CL108" not in codes(swap(ACCELERATED, *pairs))


EPOCH = """\
import torch
from tqdm import tqdm

def train_epoch(model, loader, optimizer, rounds, n):
    loader = iter(loader)
    for i in tqdm(range(rounds)):
        if i >= rounds:
            break
        inputs, targets = next(loader)
        loss = torch.nn.functional.cross_entropy(model(inputs), targets) / n
        loss.backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_a_tail_of_a_function_for_one_epoch() -> None:
    assert "CL105" in codes(EPOCH)


@pytest.mark.parametrize(
    "pair",
    [
        ("train_epoch", "train"),  # may be all of the run
        ("    loader = iter(loader)\n", "    loader = iter(loader)\n    optimizer.zero_grad()\n"),
        ("i >= rounds", "i >= 1000 * n_batches"),
    ],
)
def test_epochs_without_a_leaking_tail(pair: tuple[str, str]) -> None:
    assert "CL105" not in codes(swap(EPOCH, pair))


ENDLESS = """\
import torch

updates = 0
while True:
    for i, (inputs, targets) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets) / n
        loss.backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            if updates % total == 0:
                break
    if updates % total == 0:
        break
"""


def test_a_break_at_a_multiple_of_all_updates_ends_the_run() -> None:
    assert "CL105" in codes(ENDLESS)
    per_epoch = swap(ENDLESS, ("while True:\n", "while True:\n    updates = 0\n"))
    assert "CL105" not in codes(per_epoch)
