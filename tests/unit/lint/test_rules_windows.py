"""Rules about what a window reaches: flags, repeated steps, weights, graphs that are kept."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.rules import _examples as examples

from .lint_results import code_lines, codes, swap

ACCUMULATION, EPOCHS, ACCELERATE = examples.ACCUMULATION, examples.EPOCHS, examples.ACCELERATE
UNDIVIDED = swap(ACCUMULATION, (" / steps", ""))


# ---- CL109


FLAG = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("print(args.gradient_accumulation_steps)", {"CL109"}),
        ("total = 100 // args.gradient_accumulation_steps", {"CL109"}),
        ("engine = build(args.gradient_accumulation_steps)", set()),
        ("engine = build(args)\nn = args.gradient_accumulation_steps", set()),
        ("loader = loader.batch(8 // args.gradient_accumulation_steps)", set()),
    ],
)
def test_a_flag_that_reaches_nothing(use: str, expected: set[str]) -> None:
    assert codes(f"{FLAG}{use}\n{examples.PLAIN}") == expected


def test_a_flag_that_reaches_the_loop() -> None:
    text = swap(ACCUMULATION, ("steps = 4", "steps = args.gradient_accumulation_steps"))
    assert codes(FLAG + text) == set()


# ---- CL111, CL112, CL114, CL115


def test_steps_that_follow_each_other() -> None:
    twice = swap(
        examples.PLAIN, ("    optimizer.step()", "    optimizer.step()\n    optimizer.step()")
    )
    assert code_lines(twice) == ["CL111:12"]
    other = swap(
        examples.PLAIN, ("    optimizer.step()", "    optimizer.step()\n    second.step()")
    )
    assert codes(other) == set()
    branch = swap(
        examples.PLAIN,
        (
            "    optimizer.step()",
            "    if a:\n        optimizer.step()\n    else:\n        optimizer.step()",
        ),
    )
    assert codes(branch) == set()
    again = swap(
        examples.PLAIN,
        (
            "    optimizer.step()",
            "    optimizer.step()\n    model(inputs).mean().backward()\n    optimizer.step()",
        ),
    )
    assert codes(again) == set()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("total += loss", {"CL114"}),
        ("total = total + loss", {"CL114"}),
        ("total += loss * len(inputs)", {"CL114"}),
        ("losses.append(loss)", {"CL114"}),
        ("total += loss.item()", set()),
        ("total += loss.detach()", set()),
        ("total += float(loss)", set()),
        ("total += loss.data", set()),
        ("losses.append(loss.item())", set()),
        ("total += len(inputs)", set()),
        ("loss = loss.item()\n    total += loss", set()),
        ("with torch.no_grad():\n        total += loss", {"CL114", ""}),
    ],
)
def test_graphs_that_are_kept(line: str, expected: set[str]) -> None:
    text = swap(
        examples.PLAIN,
        ("for inputs", "total, losses = 0.0, []\nfor inputs"),
        ("    optimizer.step()\n", f"    optimizer.step()\n    {line}\n"),
    )
    found = codes(text)
    assert found == expected if "" not in expected else found <= expected


def test_sums_that_are_divided_again() -> None:
    text = swap(
        UNDIVIDED,
        ("    if (step", "    for p in model.parameters():\n        p.grad /= steps\n    if (step"),
    )
    assert codes(text) == {"CL112"}
    guarded = swap(
        text, ("    for p", "    if p_norm:\n      for p"), ("        p.grad", "          p.grad")
    )
    assert "CL112" not in codes(guarded)


HOOK = """\
import torch
from torch.nn.parallel import DistributedDataParallel


def hook(state, bucket):
    bucket.buffer().div_(accumulation_steps)
    return reduce(bucket)


model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
model.register_comm_hook(None, hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (inputs, targets) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_hooks_that_divide() -> None:
    assert "CL112" in codes(HOOK)
    assert "CL112" not in codes(swap(HOOK, ("div_(accumulation_steps)", "div_(world_size)")))
    some = swap(
        HOOK,
        ("model.register", "if world_size > 1:\n    model.register"),
    )
    assert {"CL101", "CL112"} <= codes(some)


def test_averages() -> None:
    text = swap(
        ACCUMULATION,
        ("steps = 4\n", "steps = 4\nema = ModelEma(model)\n"),
        ("    if (step", "    ema.update(model)\n    if (step"),
    )
    assert codes(text) == {"CL115"}
    moved = swap(
        text,
        ("    ema.update(model)\n", ""),
        ("        optimizer.step()\n", "        optimizer.step()\n        ema.update(model)\n"),
    )
    assert codes(moved) == set()


GROWING = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 1
for epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        ni = i + len(loader) * epoch
        if ni < 1000:
            accumulate = max(1, round(ni / 250))
        loss = torch.nn.functional.cross_entropy(model(inputs), targets) / accumulate
        loss.backward()
        if ni % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_lengths_that_change() -> None:
    assert "CL117" in codes(GROWING)
    assert "CL117" not in codes(
        swap(GROWING, ("            accumulate = max", "            other = max"))
    )
    own = swap(GROWING, ("if ni % accumulate == 0", "if done(ni, accumulate)"))
    since = swap(GROWING, ("if ni % accumulate == 0", "if ni - last >= accumulate"))
    assert "CL117" not in codes(since)
    assert codes(own) == set()


WRAPPED = """\
import torch


def train(model, loader, loss_scaler, steps: int):
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        optimizer.zero_grad()
        for step, (inputs, targets) in enumerate(loader):
            last = (step + 1) % steps == 0
            loss = criterion(model(inputs), targets) / steps
            loss_scaler(loss, optimizer, parameters=model.parameters(), update_grad=last)
            if last:
                optimizer.zero_grad()
"""


def test_scalers_that_do_the_whole_step() -> None:
    assert codes(WRAPPED) == {"CL106"}
    assert codes(swap(WRAPPED, (" / steps", ""))) == {"CL101", "CL106"}
    assert "CL104" in codes(swap(WRAPPED, ("(step + 1) %", "step %")))
    leaking = swap(WRAPPED, ("        optimizer.zero_grad()\n        for", "        for"))
    assert codes(leaking) == {"CL105"}


MAIN = """
import torch
from torch import nn

def main(model, loader, learning_rate: float = 1e-3, accumulation_steps: int = 4, epochs=1):
    {first}
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("total_batch_size = 8 * accumulation_steps", {"CL109"}),
        ("learning_rate = learning_rate * accumulation_steps * 8", {"CL109"}),
        ("log(f'{accumulation_steps}')", {"CL109"}),
        ("pass", set()),
        ("loader = Windows(loader, accumulation_steps)", set()),
        ("model = Windows(model, num_steps=accumulation_steps)", set()),
        ("rate = get_schedule(num_training_steps=100 // accumulation_steps)", {"CL109"}),
        ("accumulation_steps = 1", set()),
        ("if accumulation_steps > 1: return train(model)", set()),
        ("settings = locals()", set()),
    ],
)
def test_a_parameter_that_reaches_nothing(first: str, expected: set[str]) -> None:
    assert codes(MAIN.format(first=first)) == expected


def test_rows_of_a_micro_batch_are_no_number_of_them() -> None:
    first = "loader = DataLoader(loader, batch_size=micro_batch_size)"
    text = MAIN.format(first=first).replace("accumulation_steps", "micro_batch_size")
    assert codes(text) == set()


def test_a_parameter_that_only_scales_the_rate() -> None:
    text = MAIN.format(first="learning_rate = learning_rate * accumulation_steps")
    found = lint_sources([Source("train.py", text)])
    (message,) = [d.message for d in found if d.code == "CL109"]
    assert message.startswith("accumulation_steps only multiplies the learning rate")
