"""Losses that look like undivided means and are not, and means that do not look like it (CL101)."""

from __future__ import annotations

import pytest

from .lint_results import codes, repaired, swap

LOOP = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    {loss}
    loss.backward()
    if (step + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
MEAN = "loss = F.mse_loss(model(inputs), targets)"


def loop(*lines: str) -> str:
    return LOOP.replace("{loss}", "\n    ".join(lines))


MEANS = {
    "added in place": [MEAN, "loss += F.l1_loss(model(inputs), targets)"],
    "added to itself": [MEAN, "loss = loss + F.l1_loss(model(inputs), targets)"],
    "weighted in place": [MEAN, "loss *= 2"],
    "of two branches": [
        "loss = F.mse_loss(model(inputs), targets) if early else model(inputs).abs().mean()"
    ],
    "of an object made on the spot": ["loss = torch.nn.MSELoss()(model(inputs), targets)"],
    "mean by its name": ['loss = F.mse_loss(model(inputs), targets, reduction="mean")'],
}
OTHERS = {
    "sum added in place": [MEAN, 'loss += F.l1_loss(model(inputs), targets, reduction="sum")'],
    "sum added to itself": [MEAN, "loss = loss + model(inputs).abs().sum()"],
    "added to something else": [MEAN, "loss = penalty + loss"],
    "multiplied by something": [MEAN, "loss = loss * share"],
    "weighted by a setting": ["loss = args.weight * F.mse_loss(model(inputs), targets)"],
    "passed through a function": [MEAN, "loss = scaled(loss)"],
    "summed": ['loss = F.mse_loss(model(inputs), targets, reduction="none")', "loss = loss.sum()"],
    "one of several": [MEAN, "for loss in parts(loss):\n        log(loss)"],
    "unpacked": ["loss, correct = F.mse_loss(model(inputs), targets)"],
    "never assigned": ["model(inputs)"],
    "an item of something": ["loss = model(inputs)[0]"],
    "an attribute": ["loss = model(inputs).loss"],
    "of unknown arguments": ["loss = F.mse_loss(*pairs)"],
    "of an unknown reduction": ["loss = F.mse_loss(model(inputs), targets, reduction=how)"],
    "not reduced": ['loss = F.mse_loss(model(inputs), targets, reduction="none")'],
    "an old argument": ["loss = F.mse_loss(model(inputs), targets, reduce=False)"],
    "of one branch": ["loss = F.mse_loss(model(inputs), targets) if early else total(model)"],
}


@pytest.mark.parametrize("name", MEANS)
def test_means(name: str) -> None:
    assert codes(loop(*MEANS[name])) == {"CL101"}


@pytest.mark.parametrize("name", OTHERS)
def test_not_known_to_be_means(name: str) -> None:
    assert codes(loop(*OTHERS[name])) == set()


# ---- the first output of a model of transformers

OUTPUT = "import transformers\n" + loop(
    "outputs = model(inputs, labels=targets)", "loss = outputs[0]"
)
FIRST = {
    "of a variable": (),
    "of the call": (
        ("outputs = model(inputs, labels=targets)\n    ", ""),
        ("outputs[0]", "model(inputs)[0]"),
    ),
    "of some outputs": (("labels=targets)", "labels=targets)[:2]"),),
    "unpacked": (("outputs = model", "loss, logits = model"), ("\n    loss = outputs[0]", "")),
    "of an attribute": (("outputs = model(", "outputs = self.model("),),
    "of another model": (("outputs = model(", "outputs = discriminator("),),
    "of a copy of a copy": (
        ("outputs = model", "first = model"),
        (
            "    loss = outputs",
            "    second = first\n    third = second\n    outputs = third\n    loss = outputs",
        ),
    ),
}
NOT_FIRST = {
    "without transformers": (("import transformers\n", ""),),
    "of a function of the program": (
        (
            "import transformers\n",
            "import transformers\n\n\ndef model(x, labels):\n    return [x]\n\n\n",
        ),
        ("model = torch.nn.Linear(4, 2).cuda()\n", ""),
        ("model.parameters()", "weights"),
    ),
    "of the last outputs": (("labels=targets)", "labels=targets)[1:]"),),
    "of an item": (("outputs = model", "outputs, more = model"),),
    "in a loop": (
        (
            "    loss = outputs",
            "    for outputs in views:\n        show(outputs)\n    loss = outputs",
        ),
    ),
    "of unknown outputs": (("outputs = model(inputs, labels=targets)", "model(inputs)"),),
    "the second": (("outputs[0]", "outputs[1]"),),
    "another item": (("outputs = model", "logits, loss = model"), ("\n    loss = outputs[0]", "")),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_output_is_a_mean(name: str) -> None:
    assert codes(swap(OUTPUT, *FIRST[name])) == {"CL101"}


@pytest.mark.parametrize("name", NOT_FIRST)
def test_other_outputs_are_not_known(name: str) -> None:
    assert codes(swap(OUTPUT, *NOT_FIRST[name])) == set()


# ---- a loss that functions pass on

PASSED = """\
import torch


def backward(loss):
    loss.backward()


def train(model, optimizer, criterion, loader, steps):
    for step, (inputs, targets) in enumerate(loader):
        loss = criterion(model(inputs), targets)
        backward(loss)
        if (step + 1) % steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_a_loss_that_is_an_argument() -> None:
    assert codes(PASSED) == {"CL101"}
    assert (
        codes(swap(PASSED, ("backward(loss)\n        if", "backward(*losses)\n        if")))
        == set()
    )
    known = swap(PASSED, ("criterion(model(inputs), targets)", "model(inputs).sum()"))
    assert codes(known) == set()


def test_words_about_sums_make_a_passed_criterion_unknown() -> None:
    assert codes(PASSED + "\n\nnum_tokens = 0\n") == set()
    both = swap(PASSED, ("targets)\n", "targets) + model(inputs).abs().mean()\n"))
    assert codes(both) == {"CL101"}
    assert codes(both + "\n\nnum_tokens = 0\n") == set()


# ---- what is repaired


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ((), "(loss / steps).backward()"),
        (
            (("loss.backward()", "model(inputs).mean().backward()"),),
            "model(inputs).mean().backward()",
        ),
        ((("steps = 4\n", ""), ("% steps", "% (2 * rounds)")), "    loss.backward()"),
    ],
)
def test_only_a_variable_is_divided(changes: tuple[tuple[str, str], ...], line: str) -> None:
    text = swap(loop(MEAN), *changes)
    assert codes(text) == {"CL101"}
    assert line in repaired(text, "CL101")


def test_two_backward_passes_are_not_repaired() -> None:
    text = loop(MEAN, "loss.backward(retain_graph=True)")
    assert codes(text) == {"CL101"}
    assert repaired(text, "CL101") == text


BRANCHES = """
import torch
from transformers import AutoModelForSequenceClassification
model = AutoModelForSequenceClassification.from_pretrained(name)
for i, batch in enumerate(loader):
    outputs = model(**batch)
    if teacher is not None:
        {first}
    else:
        {second}
    loss.backward()
    if (i + 1) % n == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("loss = distill(outputs)['total']", "loss = outputs.loss", True),
        ("loss = outputs.loss", "loss = distill(outputs)['total']", True),
        ("loss = distill(outputs)['total']", "loss = outputs.loss.sum()", False),
        ("loss = distill(outputs)['total']", "loss = outputs.loss / n", False),
        ("loss = distill(outputs)['total']", "loss = other(outputs)", False),
        ("loss = distill(outputs, 'sum').sum()", "loss = outputs.loss", False),
    ],
)
def test_a_mean_on_one_branch(first: str, second: str, found: bool) -> None:
    text = BRANCHES.format(first=first, second=second)
    assert ("CL101" in codes(text)) is found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if teacher is not None", "if accumulation_steps > 1"),
        ("distill(outputs)", "distill(outputs, accumulation_steps)"),
        ("    loss.backward()", "    if teacher is not None:\n        loss.backward()"),
    ],
)
def test_branches_that_go_with_the_windows(old: str, new: str) -> None:
    text = BRANCHES.format(first="loss = distill(outputs)", second="loss = outputs.loss")
    assert "CL101" in codes(text)
    assert old in text
    assert "CL101" not in codes(text.replace(old, new))


def test_a_mean_that_another_function_may_divide() -> None:
    text = BRANCHES.format(first="pass", second="loss = prepare(loss)")
    text = text.replace("    if teacher", "    loss = outputs.loss\n    if teacher")
    assert "CL101" not in codes(text)
