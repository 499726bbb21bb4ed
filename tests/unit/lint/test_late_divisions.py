"""Losses that are divided too late, and slices of a batch with wrong weights."""

from __future__ import annotations

import pytest

from .lint_results import code_lines, codes, swap

LATE = """\
def train_batch(model, rows, optimizer, half, scaler, accumulate_gradients, num_accumulations):
    loss = model.get_loss(rows)
    if half:
        loss = loss / num_accumulations
        scaler.scale(loss).backward()
    else:
        loss.backward()
        if num_accumulations > 1:
            loss = loss / num_accumulations
    if not accumulate_gradients:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_loss_divided_behind_backward() -> None:
    assert "CL101:7" in code_lines(LATE)


@pytest.mark.parametrize(
    "pairs",
    [
        (
            (
                "            loss = loss / num_accumulations",
                "            shown = loss / num_accumulations",
            ),
        ),
        (("            loss = loss / num_accumulations", "            loss = loss / len(rows)"),),
        (("        if num_accumulations > 1", "        loss, _ = both()\n        if rows"),),
        (("        if num_accumulations > 1", "        for loss in parts: pass\n        if rows"),),
        (
            (
                "        loss.backward()\n",
                "        loss = loss / num_accumulations\n        loss.backward()\n",
            ),
            (
                "            loss = loss / num_accumulations",
                "            loss = loss * num_accumulations",
            ),
        ),
        (
            (
                "    if not accumulate",
                "    for p in model.parameters():\n        p.grad /= num_accumulations\n"
                "    if not accumulate",
            ),
        ),
    ],
)
def test_divisions_that_are_not_late(pairs: tuple[tuple[str, str], ...]) -> None:
    assert "CL101" not in codes(swap(LATE, *pairs))


SLICES = """\
import torch

for inputs, targets in loader:
    optimizer.zero_grad()
    for j in range(0, len(inputs), size):
        loss = criterion(model(inputs[j : j + size]), targets[j : j + size]) * size / rows
        loss.backward()
    optimizer.step()
"""


def test_a_short_slice_with_the_weight_of_a_full_one() -> None:
    assert "CL112" in codes(SLICES)


@pytest.mark.parametrize(
    "pair",
    [
        ("* size / rows", "* len(targets[j : j + size]) / rows"),
        (
            "    optimizer.zero_grad()",
            "    assert len(inputs) % size == 0\n    optimizer.zero_grad()",
        ),
        ("range(0, len(inputs), size)", "range(0, 64, size)"),
        ("import torch\n", "import torch\n\ncriterion = torch.nn.MSELoss(reduction='sum')\n"),
    ],
)
def test_slices_of_right_weights(pair: tuple[str, str]) -> None:
    assert "CL112" not in codes(swap(SLICES, pair))


VOCABULARY = """\
model = Wrapper(Net(num_tokens=256))
for step in range(1000):
    for _ in range(ACCUMULATE_EVERY):
        loss = model(next(rows), return_loss=True)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_size_of_a_vocabulary_is_no_count_of_tokens() -> None:
    assert "CL101" in codes(VOCABULARY)
    counted = swap(VOCABULARY, ("    for _ in", "    num_tokens = rows.count()\n    for _ in"))
    assert "CL101" not in codes(counted)


TURNS = """\
import torch

counter = 0
while True:
    counter = (counter + 1) % n
    more = counter != 0
    inputs, targets = next(rows)
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    if not more:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_counter_that_is_kept_below_the_length() -> None:
    assert "CL101" in codes(TURNS)
    assert "CL101" not in codes(swap(TURNS, ("counter + 1) % n", "counter + 1) * n")))
    assert "CL101" not in codes(swap(TURNS, ("counter != 0", "counter != 5")))
