"""Loss scalers that are used in a way that looks wrong, and right ones that are not."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, swap

AMP, WINDOW = examples.AMP, examples.AMP_ACCUMULATION
SCALED = "    scaler.scale(loss).backward()\n"
UNSCALE = "    scaler.unscale_(optimizer)\n"
CLIP = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "    scaler.step(optimizer)\n"
UPDATE = "    scaler.update()\n"
MADE = 'scaler = torch.amp.GradScaler("cuda")\n'


def under(test: str, line: str) -> str:
    """Put a line under a condition."""
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{test}:\n    {line}"


# ---- CL301, CL306: clipped before unscaled

CLIPPED: dict[str, tuple[Any, ...]] = {
    "never unscaled": (AMP, (UNSCALE, "")),
    "unscaled after the clip": (AMP, (UNSCALE + CLIP, CLIP + UNSCALE)),
    "unscaled in another branch": (
        AMP,
        (UNSCALE, under("if clip", UNSCALE)),
        (CLIP, "    else:\n    " + CLIP),
    ),
}
NOT_CLIPPED: dict[str, tuple[Any, ...]] = {
    "after the step": (AMP, (UNSCALE + CLIP, ""), (UPDATE, UPDATE + CLIP)),
    "before the backward pass": (AMP, (UNSCALE + CLIP, ""), (SCALED, CLIP + SCALED)),
    "the threshold is scaled": (AMP, (UNSCALE, ""), ("1.0)", "1.0 * scaler.get_scale())")),
    "another branch steps": (
        AMP,
        (UNSCALE + CLIP + STEP, under("if plain", CLIP) + "    else:\n    " + STEP),
    ),
    "a scaler of the program": (
        AMP,
        (UNSCALE, ""),
        (
            "import torch\n",
            "import torch\n\n\nclass Scaler:\n    def scale(self, loss):\n"
            "        return loss\n\n\n",
        ),
        (MADE, "scaler = Scaler()\n"),
    ),
}


@pytest.mark.parametrize("name", CLIPPED)
def test_clipped_before_unscaled(name: str) -> None:
    text, *changes = CLIPPED[name]
    assert codes(swap(text, *changes)) == {"CL301"}


@pytest.mark.parametrize("name", NOT_CLIPPED)
def test_not_clipped_before_unscaled(name: str) -> None:
    text, *changes = NOT_CLIPPED[name]
    assert "CL301" not in codes(swap(text, *changes))


# ---- CL205: unscaled twice

TWICE: dict[str, tuple[Any, ...]] = {
    "in a row": (AMP, (UNSCALE, UNSCALE + UNSCALE)),
    "the second under a condition": (AMP, (CLIP, CLIP + under("if norm", UNSCALE))),
    "in every micro-batch": (WINDOW, ("    " + UNSCALE, ""), (SCALED, SCALED + UNSCALE)),
}
ONCE: dict[str, tuple[Any, ...]] = {
    "two optimizers": (AMP, (UNSCALE, UNSCALE + UNSCALE.replace("optimizer", "second"))),
    "two scalers": (AMP, (UNSCALE, UNSCALE + UNSCALE.replace("scaler", "other"))),
    "in two branches": (
        AMP,
        (UNSCALE, under("if norm", UNSCALE) + "    else:\n    " + UNSCALE),
    ),
    "the first under a condition": (AMP, (UNSCALE, under("if norm", UNSCALE) + UNSCALE)),
    "updated between": (AMP, (UPDATE, UPDATE + UNSCALE)),
    "another backward pass between": (AMP, (UNSCALE, UNSCALE + SCALED + UNSCALE)),
    "an unknown optimizer": (AMP, (UNSCALE, 2 * UNSCALE.replace("optimizer", ""))),
    "a scaler from elsewhere": (AMP, (MADE, ""), (UNSCALE, UNSCALE + UNSCALE)),
    "in every micro-batch, under its own condition": (
        WINDOW,
        ("    " + UNSCALE, ""),
        (SCALED, SCALED + under("if complete(step)", UNSCALE)),
    ),
    "a step in every micro-batch": (
        WINDOW,
        ("    " + UNSCALE, ""),
        (SCALED, SCALED + UNSCALE + STEP),
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_unscaled_twice(name: str) -> None:
    text, *changes = TWICE[name]
    assert "CL205" in codes(swap(text, *changes))


@pytest.mark.parametrize("name", ONCE)
def test_unscaled_once(name: str) -> None:
    text, *changes = ONCE[name]
    assert "CL205" not in codes(swap(text, *changes))


# ---- CL201, CL203: updated too often

EARLY = (WINDOW, ("        scaler.update()\n", ""), (SCALED, SCALED + UPDATE))
OFTEN: dict[str, tuple[Any, ...]] = {
    "in every micro-batch": EARLY,
}
NOT_OFTEN: dict[str, tuple[Any, ...]] = {
    "under its own condition": (
        WINDOW,
        ("        scaler.update()\n", ""),
        (SCALED, SCALED + under("if complete(step)", UPDATE)),
    ),
    "where some steps are made in every micro-batch": (
        WINDOW,
        ("        scaler.update()\n", ""),
        (SCALED, SCALED + STEP + UPDATE),
    ),
    "of a scaler of the program": (
        EARLY[0],
        *EARLY[1:],
        (
            "import torch\n",
            "import torch\n\n\nclass Scaler:\n    def update(self):\n        pass\n\n\n",
        ),
        (MADE, "scaler = Scaler()\n"),
    ),
}


@pytest.mark.parametrize("name", OFTEN)
def test_updated_in_every_micro_batch(name: str) -> None:
    text, *changes = OFTEN[name]
    assert "CL201" in codes(swap(text, *changes))


@pytest.mark.parametrize("name", NOT_OFTEN)
def test_not_updated_in_every_micro_batch(name: str) -> None:
    text, *changes = NOT_OFTEN[name]
    assert "CL201" not in codes(swap(text, *changes))


TWO = swap(
    AMP,
    ("criterion = ", "second = torch.optim.SGD(head.parameters(), lr=0.1)\ncriterion = "),
    (UPDATE, UPDATE + "    scaler.step(second)\n" + UPDATE),
)
OTHER = 'other = torch.amp.GradScaler("cuda")\n'
EACH: dict[str, tuple[Any, ...]] = {
    "after each of two optimizers": (TWO,),
    "in a loop over optimizers": (
        AMP,
        (
            STEP + UPDATE,
            "    for each in both:\n    " + STEP.replace("optimizer", "each") + "    " + UPDATE,
        ),
    ),
}
NOT_EACH: dict[str, tuple[Any, ...]] = {
    "two scalers": (
        TWO,
        (MADE, MADE + OTHER),
        (
            "    scaler.step(second)\n" + UPDATE,
            "    other.step(second)\n    other.update()\n",
        ),
    ),
    "in two branches": (
        TWO,
        (
            STEP + UPDATE + "    scaler.step(second)\n" + UPDATE,
            under("if first", STEP + "    " + UPDATE)
            + "    else:\n        scaler.step(second)\n    "
            + UPDATE,
        ),
    ),
    "of one optimizer": (TWO, ("scaler.step(second)", "scaler.step(optimizer)")),
    "without a step between": (TWO, ("    scaler.step(second)\n", "")),
    "without a step before": (TWO, (STEP + UPDATE, UPDATE)),
    "a step of another scaler between": (
        TWO,
        (MADE, MADE + OTHER),
        ("scaler.step(second)", "other.step(second)"),
    ),
    "in a loop that waits": (
        AMP,
        (STEP + UPDATE, "    while more():\n    " + STEP + "    " + UPDATE),
    ),
    "in a loop over something else": (
        AMP,
        (STEP + UPDATE, "    for each in both:\n    " + STEP + "    " + UPDATE),
    ),
    "in a loop that steps elsewhere": (
        AMP,
        (STEP + UPDATE, STEP + "    for each in both:\n        each.show()\n    " + UPDATE),
    ),
    "in a loop with its own backward pass": (
        AMP,
        (
            SCALED + UNSCALE + CLIP + STEP + UPDATE,
            "    for each in both:\n    "
            + SCALED
            + "    "
            + STEP.replace("optimizer", "each")
            + "    "
            + UPDATE,
        ),
    ),
}


@pytest.mark.parametrize("name", EACH)
def test_updated_for_each_optimizer(name: str) -> None:
    text, *changes = EACH[name]
    assert "CL203" in codes(swap(text, *changes))


@pytest.mark.parametrize("name", NOT_EACH)
def test_not_updated_for_each_optimizer(name: str) -> None:
    text, *changes = NOT_EACH[name]
    assert "CL203" not in codes(swap(text, *changes))


# ---- CL202, CL204, CL211: a scaler that is left out

BARE = swap(AMP, (UNSCALE + CLIP + STEP + UPDATE, "    optimizer.step()\n"))
LEFT_OUT: dict[str, tuple[Any, ...]] = {
    "CL204": (BARE,),
    "CL211": (AMP, (SCALED, "    loss.backward()\n")),
    "CL202": (AMP, (UPDATE, "")),
}
NOT_LEFT_OUT: dict[str, tuple[Any, ...]] = {
    "the gradients are unscaled and stepped in the other branch": (
        "CL204",
        AMP,
        (SCALED + UNSCALE, under("if half", SCALED) + "    else:\n        loss.backward()\n"),
        (
            STEP + UPDATE,
            under("if half", STEP + "    " + UPDATE) + "    else:\n        optimizer.step()\n",
        ),
    ),
    "another optimizer steps first": (
        "CL204",
        AMP,
        ("    optimizer.zero_grad()\n", "    second.step()\n    optimizer.zero_grad()\n"),
        ("criterion = ", "second = torch.optim.SGD(head.parameters(), lr=0.1)\ncriterion = "),
    ),
    "a loss that is scaled elsewhere": (
        "CL211",
        AMP,
        (SCALED, SCALED + "    penalty(model).backward()\n"),
    ),
    "a loss that is scaled under a condition": (
        "CL211",
        AMP,
        (SCALED, under("if half", SCALED) + "    else:\n        loss.backward()\n"),
    ),
    "a plain loss after the step": (
        "CL211",
        AMP,
        (SCALED, ""),
        (UPDATE, UPDATE + "    loss.backward()\n"),
    ),
    "a scaler from elsewhere": ("CL211", AMP, (MADE, ""), (SCALED, "    loss.backward()\n")),
    "a scaler from elsewhere, never updated": ("CL202", AMP, (MADE, ""), (UPDATE, "")),
    "updated by a function that is handed on": (
        "CL202",
        AMP,
        (UPDATE, ""),
        (MADE, MADE + "hooks.append(lambda: scaler.update())\n"),
    ),
}


@pytest.mark.parametrize("code", LEFT_OUT)
def test_a_scaler_that_is_left_out(code: str) -> None:
    text, *changes = LEFT_OUT[code]
    assert code in codes(swap(text, *changes))


@pytest.mark.parametrize("name", NOT_LEFT_OUT)
def test_a_scaler_that_is_not_left_out(name: str) -> None:
    code, text, *changes = NOT_LEFT_OUT[name]
    assert isinstance(code, str)
    assert code not in codes(swap(text, *changes))
