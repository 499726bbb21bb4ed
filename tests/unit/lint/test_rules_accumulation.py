"""Rules about windows of micro-batches: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, repaired, swap

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


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("loss = loss + part(inputs) / steps", set()),
        ("loss += part(inputs) / steps", set()),
        ("loss = loss + (loss + part(inputs)) / steps", {"CL102"}),
        ("more = part(inputs) / steps\n    loss += 0.5 * more / steps", {"CL102"}),
    ],
)
def test_parts_of_a_sum_are_divided_by_themselves(last: str, expected: set[str]) -> None:
    change = ("    loss.backward()", f"    {last}\n    loss.backward()")
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
    divided = swap(named, ("gradient_accumulation_steps=4", ""))
    assert "CL116" not in codes(divided)
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


LATE = """
import torch
from tools import freshen

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    BEFORE
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if i % 100 == 0:
        model.zero_grad()
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("x = x.cuda()", True),
        ("freshen(x)", True),
        ("freshen(model)", False),
        ("freshen(optimizer)", False),
        ("tools.reset_all()", False),
        ("model.clear()", False),
    ],
)
def test_gradients_that_unseen_code_may_clear(before: str, found: bool) -> None:
    assert ("CL113" in codes(LATE.replace("BEFORE", before))) is found


PADDLE_WINDOW = """
import paddle
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
scaler = paddle.amp.GradScaler()
for i, (x, y) in enumerate(loader):
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.cross_entropy(model(x), y) / 4
    scaled = scaler.scale(loss)
    scaled.backward()
    if (i + 1) % 4 == 0:
        scaler.minimize(optimizer, scaled)
        optimizer.clear_grad()
"""


def test_minimize_of_a_scaler_clears_nothing() -> None:
    assert codes(PADDLE_WINDOW) == set()
    assert codes(PADDLE_WINDOW.replace("        optimizer.clear_grad()\n", "")) == {"CL107"}
    cleared = PADDLE_WINDOW.replace("optimizer.clear_grad()", "tidy(optimizer)")
    assert codes(cleared) == set()


def test_a_loss_that_is_scaled_into_a_variable_is_still_a_mean() -> None:
    undivided = PADDLE_WINDOW.replace(" / 4\n", "\n")
    assert codes(undivided) == {"CL101"}
    summed = undivided.replace("model(x), y)", "model(x), y, reduction='sum')")
    assert codes(summed) == set()
    assert "CL101" not in codes(undivided.replace("scaler.scale(", "ours.scale("))
