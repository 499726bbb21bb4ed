"""Gradients that seem never to be cleared, or too early, and those that are (CL107, CL108)."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, swap

UNCLEARED = swap(examples.PLAIN, ("    optimizer.zero_grad()\n", ""))
STEP = "    optimizer.step()\n"


def after(*lines: str) -> tuple[str, str]:
    """Put lines after the step."""
    return (STEP, STEP + "".join(f"    {line}\n" for line in lines))


NEVER = {
    "the loop may end": (after("if loss.item() < 0.1:", "    break"),),
    "the loop ended before": (
        ("    loss = criterion", "    if done(inputs):\n        break\n    loss = criterion"),
        (STEP, "    if ready(loss):\n        optimizer.step()\n"),
    ),
    "the loop goes on": (after("continue"),),
    "a comment clears": (after("# optimizer.zero_grad()"),),
    "another word": (after("gradient = zero(optimizer.param_groups)"),),
    "the optimizer is saved": (after('torch.save(optimizer, "optimizer.pt")'),),
    "the optimizer is shown": (
        ("import torch\n", "import torch\n\n\ndef show(optimizer):\n    print(optimizer)\n\n\n"),
        after("show(optimizer)"),
    ),
    "something else is passed on": (after("callback(model, loss)"),),
}
CLEARED = {
    "the loop ends": (after("break"),),
    "the function ends": (
        ("for inputs", "def train():\n  for inputs"),
        (STEP, STEP + "    return loss\n"),
    ),
    "by a function with a telling name": (after("zero_grads(model)"),),
    "by something that gets the optimizer": (after("callback(optimizer)"),),
    "by something that gets it by name": (after("callback(owner=optimizer)"),),
    "gradients are assigned": (
        (
            "    loss.backward()\n",
            "    gradients = torch.autograd.grad(loss, model.parameters())\n"
            "    for weight, gradient in zip(model.parameters(), gradients):\n"
            "        weight.grad = gradient\n",
        ),
    ),
}


@pytest.mark.parametrize("name", NEVER)
def test_never_cleared(name: str) -> None:
    assert codes(swap(UNCLEARED, *NEVER[name])) == {"CL107"}


@pytest.mark.parametrize("name", CLEARED)
def test_cleared(name: str) -> None:
    assert codes(swap(UNCLEARED, *CLEARED[name])) == set()


# ---- cleared before the step

EARLY = swap(
    UNCLEARED, ("    torch.nn.utils.clip", "    optimizer.zero_grad()\n    torch.nn.utils.clip")
)
WINDOW = examples.ACCUMULATION
EACH = swap(WINDOW, ("    loss.backward()", "    model.zero_grad()\n    loss.backward()"))
TOO_EARLY = {
    "before the step": EARLY,
    "by the model": swap(EARLY, ("optimizer.zero_grad", "model.zero_grad")),
    "in every micro-batch": EACH,
}
IN_TIME = {
    "of another model": swap(EARLY, ("optimizer.zero_grad()", "critic.zero_grad()")),
    "between two backward passes": swap(
        EARLY,
        (
            "optimizer.zero_grad()\n",
            "optimizer.zero_grad()\n    criterion(model(inputs), targets).backward()\n",
        ),
    ),
    "between two steps": swap(
        EARLY,
        (
            "    optimizer.zero_grad()\n",
            "    optimizer.step()\n    optimizer.zero_grad()\n    model.sharpen(loss)\n",
        ),
    ),
    "under a condition": swap(
        EARLY,
        ("    optimizer.zero_grad()\n", "    if broken(loss):\n        optimizer.zero_grad()\n"),
    ),
    "with a closure": swap(EARLY, ("criterion = ", "closure = None\ncriterion = ")),
    "by several optimizers": swap(
        EARLY,
        ("criterion = ", "second = torch.optim.SGD(critic.parameters(), lr=0.1)\ncriterion = "),
        (STEP, STEP + "    second.step()\n"),
    ),
    "in every micro-batch, under a condition": swap(
        EACH, ("    model.zero_grad()\n", "    if new:\n        model.zero_grad()\n")
    ),
    "at the end of a window": swap(
        WINDOW,
        ("        optimizer.step()\n", "        optimizer.step()\n        model.zero_grad()\n"),
    ),
}


@pytest.mark.parametrize("name", TOO_EARLY)
def test_cleared_too_early(name: str) -> None:
    assert codes(TOO_EARLY[name]) == {"CL108"}


@pytest.mark.parametrize("name", IN_TIME)
def test_cleared_in_time(name: str) -> None:
    assert "CL108" not in codes(IN_TIME[name])


ONE_BRANCH = """
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        {start}
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if args.n > 1:
            loss = loss / args.n
            if (i + 1) % args.n == 0:
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            else:
                loss.backward()
        else:
            {other}
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
"""
"""Windows on one branch of a condition, and none on the other."""


@pytest.mark.parametrize(
    ("start", "other", "expected"),
    [
        ("optimizer.zero_grad()", "pass", {"CL108"}),
        ("model.zero_grad()", "pass", {"CL108"}),
        ("pass", "optimizer.zero_grad()", {"CL105"}),
        ("another.zero_grad()", "pass", {"CL105"}),
        ("if i % args.n == 0: optimizer.zero_grad()", "pass", set()),
    ],
)
def test_windows_on_one_branch(start: str, other: str, expected: set[str]) -> None:
    text = ONE_BRANCH.format(start=start, other=other)
    assert codes(text) & {"CL105", "CL107", "CL108"} == expected
