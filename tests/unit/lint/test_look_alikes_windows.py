"""Windows of micro-batches that look wrong, and right ones that look like them."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, swap

PLAIN, WINDOW, EPOCHS = examples.PLAIN, examples.ACCUMULATION, examples.EPOCHS
Changes = tuple[tuple[str, str], ...]
END = "(step + 1) % steps == 0"
CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "        optimizer.step()\n"
CLEAR = "        optimizer.zero_grad()\n"
BACKWARD = "    loss.backward()\n"

# ---- CL104: the window ends too early

EARLY: dict[str, Changes] = {
    "counted from 0": ((END, "step % steps == 0"),),
    "or the first": ((END, f"{END} or step == 0"),),
    "or a name that says so": ((END, f"is_first or {END}"),),
    "or the first, for several optimizers": (
        (END, f"{END} or step == 0"),
        (STEP, STEP + "        second.step()\n"),
        ("criterion = ", "second = torch.optim.SGD(head.parameters(), lr=0.1)\ncriterion = "),
    ),
}
IN_TIME: dict[str, Changes] = {
    "or another name": ((END, f"{END} or finished"),),
    "or another number": ((END, f"{END} or step == 7"),),
    "and the first": ((END, f"{END} and step == 0"),),
    "and a name": ((END, f"is_first and {END}"),),
    "unless the first": (
        (f"if {END}:\n", f"if not (step == 0 or {END}):\n        continue\n    if {END}:\n"),
    ),
    "the first of several": ((END, f"{END} or (step == 0 and warm)"),),
    "counted before": (
        (END, "step % steps == 0"),
        (BACKWARD, ""),
        (CLEAR, CLEAR + BACKWARD),
    ),
    "the backward pass follows": (
        (END, "step % steps == 0"),
        (CLEAR, CLEAR + "    criterion(model(inputs), targets).backward()\n"),
    ),
    "at one batch only": ((END, "step == steps"),),
    "clears and opens": (
        (
            "    loss = criterion",
            "    if step % steps == 0:\n        optimizer.zero_grad()\n    loss = criterion",
        ),
        (CLEAR, ""),
    ),
}


@pytest.mark.parametrize("name", EARLY)
def test_the_window_ends_too_early(name: str) -> None:
    assert codes(swap(WINDOW, *EARLY[name])) == {"CL104"}


@pytest.mark.parametrize("name", IN_TIME)
def test_the_window_ends_in_time(name: str) -> None:
    assert "CL104" not in codes(swap(WINDOW, *IN_TIME[name]))


# ---- CL105, CL106: what is left over at the end of an epoch

OPEN = swap(EPOCHS, (" or step + 1 == len(loader)", ""))
TAIL = ("            optimizer.zero_grad()\n",)
LEFT: dict[str, tuple[str, Changes]] = {
    "cleared in every epoch": ("CL106", ()),
    "kept": ("CL105", (("    optimizer.zero_grad()\n    for step", "    for step"),)),
    "cleared in some epochs": (
        "CL105",
        (
            (
                "    optimizer.zero_grad()\n    for step",
                "    if fresh:\n        optimizer.zero_grad()\n    for step",
            ),
        ),
    ),
    "cleared once": (
        "CL105",
        (
            ("    optimizer.zero_grad()\n    for step", "    for step"),
            ("for epoch", "optimizer.zero_grad()\nfor epoch"),
        ),
    ),
    "the loop may end": (
        "CL106",
        (
            (
                "        loss.backward()\n",
                "        loss.backward()\n        if broken(loss):\n            break\n",
            ),
        ),
    ),
    "the loop may end after the rows of an epoch": (
        "CL106",
        (
            (
                "        loss.backward()\n",
                "        loss.backward()\n        if step >= rows_per_epoch // rows_of_batch:\n"
                "            break\n",
            ),
        ),
    ),
    "a length that a flag sets": (
        "CL106",
        (
            ("import torch\n", "import argparse\n\nimport torch\n"),
            (
                "steps = 4\n",
                "parser = argparse.ArgumentParser()\n"
                'parser.add_argument("--steps", type=int, default=1)\n'
                "steps = parser.parse_args().steps\n",
            ),
        ),
    ),
}
NOT_LEFT: dict[str, Changes] = {
    "the last batch steps": (("steps == 0:", "steps == 0 or step + 1 == len(loader):"),),
    "something else may step": (("steps == 0:", "steps == 0 or ended(step):"),),
    "stepped after the loop": (
        (TAIL[0], TAIL[0] + "    optimizer.step()\n    optimizer.zero_grad()\n"),
    ),
    "windows of one": (("% steps == 0", "% 1 == 0"),),
    "the loop ends at a full window": (
        (TAIL[0], TAIL[0] + "            if step > limit:\n                break\n"),
    ),
    "the loop ends after a number of steps": (
        (
            "        loss.backward()\n",
            "        loss.backward()\n        if step >= steps_per_epoch:\n            break\n",
        ),
    ),
    "the loop ends after a number of windows": (
        (
            "        loss.backward()\n",
            "        loss.backward()\n        if step >= len(loader) // steps * steps:\n"
            "            break\n",
        ),
    ),
    "the loop ends after a multiple of something": (
        (
            "        loss.backward()\n",
            "        loss.backward()\n        if step >= rows_per_epoch // large * small:\n"
            "            break\n",
        ),
    ),
    "no epochs": (("for epoch in range(3):\n", "if True:\n"),),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_over(name: str) -> None:
    code, changes = LEFT[name]
    assert codes(swap(OPEN, *changes)) == {code}


@pytest.mark.parametrize("name", NOT_LEFT)
def test_not_left_over(name: str) -> None:
    assert not {"CL105", "CL106"} & codes(swap(OPEN, *NOT_LEFT[name]))


# ---- CL111: two steps with the same gradients

DOUBLE: dict[str, Changes] = {
    "in a row": (("    optimizer.step()\n", "    optimizer.step()\n    optimizer.step()\n"),),
    "the first under a condition": (
        (
            "    optimizer.step()\n",
            "    if more:\n        optimizer.step()\n    optimizer.step()\n",
        ),
    ),
}
NOT_DOUBLE: dict[str, Changes] = {
    "of two optimizers": (("    optimizer.step()\n", "    optimizer.step()\n    second.step()\n"),),
    "in two branches": (
        (
            "    optimizer.step()\n",
            "    if early:\n        optimizer.step()\n    else:\n        optimizer.step()\n",
        ),
    ),
    "cleared between": (
        (
            "    optimizer.step()\n",
            "    optimizer.step()\n    optimizer.zero_grad()\n    optimizer.step()\n",
        ),
    ),
    "differentiated between": (
        (
            "    optimizer.step()\n",
            "    optimizer.step()\n"
            "    criterion(model(inputs), targets).backward()\n"
            "    optimizer.step()\n",
        ),
    ),
    "before the backward pass": (
        ("    loss.backward()\n", ""),
        (
            "    optimizer.step()\n",
            "    optimizer.step()\n    optimizer.step()\n    loss.backward()\n",
        ),
    ),
    "in a loop of its own": (
        (
            "    optimizer.step()\n",
            "    optimizer.step()\n    for each in views:\n        optimizer.step()\n",
        ),
    ),
    "the second under a condition": (
        (
            "    optimizer.step()\n",
            "    optimizer.step()\n    if more:\n        optimizer.step()\n",
        ),
    ),
    "of unknown optimizers": (
        ("    optimizer.step()\n", "    pick().step()\n    pick().step()\n"),
    ),
}


@pytest.mark.parametrize("name", DOUBLE)
def test_two_steps(name: str) -> None:
    assert codes(swap(PLAIN, *DOUBLE[name])) == {"CL111"}


@pytest.mark.parametrize("name", NOT_DOUBLE)
def test_not_two_steps(name: str) -> None:
    assert "CL111" not in codes(swap(PLAIN, *NOT_DOUBLE[name]))


# ---- CL303, CL307: clipped too often, or too late

LOOSE = CLIP[4:]
EACH = ((CLIP, ""), (BACKWARD, BACKWARD + LOOSE))
OFTEN: dict[str, Changes] = {
    "in every micro-batch": EACH,
    "under a switch": ((CLIP, ""), (BACKWARD, BACKWARD + "    if clip:\n" + CLIP)),
    "if there are windows": (
        (CLIP, ""),
        (BACKWARD, BACKWARD + "    if accumulation > 1:\n" + CLIP),
    ),
}
NOT_OFTEN: dict[str, Changes] = {
    "under a test of its own": (
        (CLIP, ""),
        (BACKWARD, BACKWARD + "    if is_last(inputs):\n" + CLIP),
    ),
    "under a test with a remainder": (
        (CLIP, ""),
        (BACKWARD, BACKWARD + "    if not (seen % 8):\n" + CLIP),
    ),
    "if gradients are synchronized": (
        (CLIP, ""),
        (BACKWARD, BACKWARD + "    if sync_gradients:\n" + CLIP),
    ),
    "if there are windows, at their end": (
        (CLIP, ""),
        (BACKWARD, BACKWARD + "    if accumulation > 1 and seen % 8:\n" + CLIP),
    ),
    "before the backward pass": ((CLIP, ""), (BACKWARD, LOOSE + BACKWARD)),
    "after the step": ((CLIP, ""), (CLEAR, CLEAR + LOOSE)),
    "in a loop of its own": ((CLIP, ""), (BACKWARD, BACKWARD + "    for part in parts:\n" + CLIP)),
    "where some steps are made in every micro-batch": (
        *EACH,
        (CLEAR, CLEAR + "    optimizer.step()\n"),
    ),
    "in the other branch": (
        (CLIP, ""),
        (STEP, STEP + CLEAR),
        (CLEAR + CLEAR, CLEAR + "    else:\n" + CLIP),
    ),
    "where the caller decides": (
        *EACH,
        ("for step", "def train(batch, need_update):\n  for step"),
        ("if " + END, "if need_update"),
    ),
}


@pytest.mark.parametrize("name", OFTEN)
def test_clipped_in_every_micro_batch(name: str) -> None:
    assert codes(swap(WINDOW, *OFTEN[name])) == {"CL303"}


@pytest.mark.parametrize("name", NOT_OFTEN)
def test_not_clipped_in_every_micro_batch(name: str) -> None:
    assert "CL303" not in codes(swap(WINDOW, *NOT_OFTEN[name]))


AFTER = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
LATE = swap(PLAIN, (AFTER, ""), ("    optimizer.step()\n", "    optimizer.step()\n" + AFTER))
IN_ORDER: dict[str, Changes] = {
    "weights of a critic": (
        ("criterion = ", "# the weights of the critic are clipped\ncriterion = "),
    ),
    "of two optimizers": (
        ("criterion = ", "second = torch.optim.SGD(head.parameters(), lr=0.1)\ncriterion = "),
        ("    loss.backward()\n", "    loss.backward()\n    second.step()\n"),
    ),
    "in the other branch": (
        (
            "    optimizer.step()\n" + AFTER,
            "    if raw:\n        optimizer.step()\n    else:\n    " + AFTER,
        ),
    ),
    "another step follows": ((AFTER, AFTER + "    optimizer.step()\n"),),
    "another backward pass follows": (
        (AFTER, AFTER + "    criterion(model(inputs), targets).backward()\n"),
    ),
    "clipped before as well": (("    optimizer.step()\n", AFTER + "    optimizer.step()\n"),),
    "the step is under a condition": (
        ("    optimizer.step()\n", "    if ready:\n        optimizer.step()\n"),
    ),
    "the backward pass follows": (
        ("    loss.backward()\n", ""),
        (AFTER, AFTER + "    loss.backward()\n"),
    ),
}


def test_clipped_too_late() -> None:
    assert codes(LATE) == {"CL307"}


@pytest.mark.parametrize("name", IN_ORDER)
def test_not_clipped_too_late(name: str) -> None:
    assert "CL307" not in codes(swap(LATE, *IN_ORDER[name]))
