"""Rules about windows of micro-batches: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast.lint.rules import _examples as examples

from .saying import codes, repaired, said, swap

ACCUMULATION, EPOCHS, ACCELERATE = examples.ACCUMULATION, examples.EPOCHS, examples.ACCELERATE
UNDIVIDED = swap(ACCUMULATION, (" / steps", ""))


# ---- CL101


@pytest.mark.parametrize(
    "change",
    [
        ("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="sum")'),
        ("CrossEntropyLoss()", "CrossEntropyLoss(reduction=how)"),
        ("CrossEntropyLoss()", "CrossEntropyLoss(size_average=False)"),
        ("criterion(model(inputs), targets)", "criterion(model(inputs), targets).sum()"),
        ("criterion(model(inputs), targets)", "compute(model, inputs, targets)"),
        ("criterion(model(inputs), targets)", "model(inputs, targets)"),
        ("criterion(model(inputs), targets)", "criterion(model(inputs), targets) * share"),
        ("        optimizer.step()", "        scale_gradients(model)\n        optimizer.step()"),
        ("loss.backward()", "(loss / steps).backward()"),
        ("loss.backward()", "loss.div(steps).backward()"),
        ("loss.backward()", "loss *= 1 / steps\n    loss.backward()"),
        (
            "        optimizer.step()",
            "        for p in model.parameters():\n            p.grad.div_(steps)\n"
            "        optimizer.step()",
        ),
    ],
)
def test_losses_that_are_divided_or_not_known_to_be_means(change: tuple[str, str]) -> None:
    text = swap(UNDIVIDED, change)
    if "scale_gradients" in text:
        text = swap(
            text,
            ("import torch\n", "import torch\n\ndef scale_gradients(model):\n"
             "    for p in model.parameters():\n        p.grad *= 0.25\n\n"),
        )  # fmt: skip
    assert "CL101" not in codes(text)


@pytest.mark.parametrize(
    "change",
    [
        ("criterion(model(inputs), targets)", "criterion(model(inputs), targets).mean()"),
        (
            "criterion(model(inputs), targets)",
            "criterion(model(inputs), targets) + 0.1 * norm.mean()",
        ),
        (
            "criterion(model(inputs), targets)",
            "torch.nn.functional.mse_loss(model(inputs), targets)",
        ),
        ("CrossEntropyLoss()", 'CrossEntropyLoss(reduction="mean", label_smoothing=0.1)'),
        ("loss = criterion", "outputs = model(inputs)\n    loss = criterion"),
    ],
)
def test_means_that_are_added_up(change: tuple[str, str]) -> None:
    assert codes(swap(UNDIVIDED, change)) == {"CL101"}


def test_repairs_divide_where_the_loss_is_differentiated() -> None:
    assert "(loss / steps).backward()" in repaired(UNDIVIDED, "CL101")
    assert codes(repaired(UNDIVIDED, "CL101")) == set()
    scaled = swap(examples.AMP_ACCUMULATION, (" / steps", ""))
    assert "scaler.scale(loss / steps).backward()" in repaired(scaled, "CL101")
    assert codes(repaired(scaled, "CL101")) == set()
    flag = swap(UNDIVIDED, ("steps = 4\n", ""), ("% steps", "% options.steps"))
    assert codes(flag) == {"CL101"}
    assert repaired(flag, "CL101") == flag  # an attribute may need another name there


def test_tasks_of_one_batch_are_no_window() -> None:
    text = swap(
        examples.PLAIN,
        (
            "    loss = criterion(model(inputs), targets)\n    loss.backward()\n",
            "    for task in range(3):\n        loss = criterion(model(inputs), targets)\n"
            "        loss.backward()\n",
        ),
    )
    assert codes(text) == set()


# ---- CL102, CL113, CL116


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("    loss.backward()", "    loss /= steps\n    loss.backward()"), {"CL102"}),
        (("    loss.backward()", "    (loss / steps).backward()"), {"CL102"}),
        (("    loss.backward()", "    loss = loss / 2\n    loss.backward()"), set()),
        (("    loss.backward()", "    shown = loss / steps\n    loss.backward()"), set()),
    ],
)
def test_divided_twice(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(ACCUMULATION, change)) == expected


def test_divided_in_two_branches_is_divided_once() -> None:
    text = swap(
        UNDIVIDED,
        (
            "    loss.backward()\n",
            "    if weighted:\n        loss = 2 * loss / steps\n    else:\n"
            "        loss = loss / steps\n    loss.backward()\n",
        ),
    )
    assert codes(text) == set()


def test_a_division_without_windows() -> None:
    text = swap(examples.PLAIN, ("targets)\n", "targets) / accumulation_steps\n"))
    assert codes(text) == {"CL113"}
    for name in ("temperature", "len(inputs)", "2"):
        assert codes(swap(text, ("accumulation_steps", name))) == set()


def test_accelerate_divides_itself() -> None:
    own = swap(
        ACCELERATE, ("        accelerator.backward(loss)", "        accelerator.backward(loss / 4)")
    )
    assert codes(own) == set()  # a 4 may be anything
    named = swap(own, ("loss / 4", "loss / accumulation_steps"))
    assert codes(named) == {"CL116"}
    back = swap(named, ("loss / accumulation_steps", "loss * n / accumulation_steps"))
    assert codes(back) == set()
    one = swap(named, ("gradient_accumulation_steps=4", ""))
    assert "CL116" not in codes(one)
    tested = swap(
        ACCELERATE,
        ("for inputs, targets in loader:", "for step, (inputs, targets) in enumerate(loader):"),
        (
            "        optimizer.step()\n        optimizer.zero_grad()\n",
            "        if (step + 1) % 4 == 0:\n            optimizer.step()\n"
            "            optimizer.zero_grad()\n",
        ),
    )
    assert "CL116" in codes(tested)


# ---- CL103, CL105, CL106


def test_tails() -> None:
    leak = swap(
        EPOCHS,
        (" or step + 1 == len(loader)", ""),
        ("    optimizer.zero_grad()\n    for", "    for"),
    )
    assert codes(leak) == {"CL105"}
    assert codes(swap(leak, ("    for step", "    optimizer.zero_grad()\n    for step"))) == {
        "CL106"
    }
    behind = leak + "    optimizer.step()\n    optimizer.zero_grad()\n"
    assert codes(behind) == set()
    limited = swap(
        leak,
        (
            "        loss = ",
            "        if step == len(loader) // 4 * 4:\n            break\n        loss = ",
        ),
    )
    assert codes(limited) == set()
    one_epoch = swap(ACCUMULATION, ("steps = 4", "steps = 7"))
    assert codes(one_epoch) == set()
    assert codes(EPOCHS) == {"CL103"}
    assert codes(swap(EPOCHS, ("step + 1 == len(loader)", "flush(step)"))) == set()


# ---- CL104, CL110, CL117


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("(step + 1) % steps == 0", set()),
        ("step % steps == steps - 1", set()),
        ("(1 + step) % steps == 0", set()),
        ("not (step + 1) % steps", set()),
        ("step % steps == 0", {"CL104"}),
        ("not step % steps", {"CL104"}),
        ("step % steps == 1", {"CL104"}),
        ("(step + 2) % steps == 0", {"CL104"}),
        ("step % steps == steps", {"CL110"}),
        ("done(step, steps)", set()),
    ],
)
def test_boundaries(test: str, expected: set[str]) -> None:
    assert codes(swap(ACCUMULATION, ("(step + 1) % steps == 0", test))) == expected


def test_a_count_from_one() -> None:
    text = swap(ACCUMULATION, ("enumerate(loader)", "enumerate(loader, 1)"), ("(step + 1)", "step"))
    assert codes(text) == set()
    wrong = swap(text, ("if step %", "if (step + 1) %"))
    assert codes(wrong) == {"CL104"}
    assert repaired(wrong, "CL104") == wrong  # nothing to add that would be right


def test_only_the_simple_form_is_repaired() -> None:
    wrong = swap(ACCUMULATION, ("(step + 1) % steps == 0", "step % steps == 0"))
    assert repaired(wrong, "CL104") == ACCUMULATION
    negated = swap(wrong, ("if step % steps == 0", "if not step % steps"))
    assert repaired(negated, "CL104") == negated


# ---- CL107, CL108


@pytest.mark.parametrize(
    "line",
    [
        "model.zero_grad()",
        "for p in model.parameters():\n            p.grad = None",
        "for p in model.parameters():\n            p.grad.zero_()",
        "clear(optimizer)",
        "optimizer.zero_grad(set_to_none=True)",
    ],
)
def test_ways_to_clear_gradients(line: str) -> None:
    text = swap(
        ACCUMULATION,
        (
            "        optimizer.step()\n        optimizer.zero_grad()",
            f"        optimizer.step()\n        {line}",
        ),
    )
    assert "CL107" not in codes(text)


def test_a_loop_that_ends_at_its_step_needs_no_clearing() -> None:
    text = swap(examples.PLAIN, ("    optimizer.zero_grad()\n", ""))
    assert codes(text) == {"CL107"}
    assert codes(text + "    break\n") == set()


def test_gradients_that_are_lost() -> None:
    between = swap(
        examples.PLAIN,
        ("    optimizer.zero_grad()\n", ""),
        ("    optimizer.step()", "    optimizer.zero_grad()\n    optimizer.step()"),
    )
    assert codes(between) == {"CL108"}
    each = swap(ACCUMULATION, ("    loss.backward()", "    model.zero_grad()\n    loss.backward()"))
    assert codes(each) == {"CL108"}
    other = swap(each, ("model.zero_grad()", "discriminator.zero_grad()"))
    assert codes(other) == set()
    sometimes = swap(
        each, ("    model.zero_grad()\n", "    if fresh:\n        model.zero_grad()\n")
    )
    assert codes(sometimes) == set()


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
    assert said(twice) == ["CL111:12"]
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
    assert codes(own) == set()
