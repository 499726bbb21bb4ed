"""Where a script uses what its lines define."""

from __future__ import annotations

import pytest

from crosscast.explore.name_uses import name_uses

TEXT = """\
RATE = 0.1
OTHER = RATE


def rate(position: int) -> float:
    return RATE * position


def train_window(state: RATE) -> RATE:
    lr = rate(3)
    state.lr = lr
    OTHER
    return lr


def train():
    train_window(None)
"""


@pytest.mark.parametrize(
    ("lines", "uses"),
    [
        ({1}, {2, 6, 10, 11, 12, 13}),  # through functions, their results, and constants
        ({2}, {12}),
        ({6}, {10, 11, 13}),
        ({11}, set()),  # the step itself stands for too much
        (set(), set()),
    ],
)
def test_uses(lines: set[int], uses: set[int]) -> None:
    assert name_uses(TEXT).of(lines) == uses


@pytest.mark.parametrize("text", ["", "not Python at all", "\0"])
def test_other_texts(text: str) -> None:
    assert name_uses(text).of({1}) == set()


def test_recursion_ends() -> None:
    text = "def f():\n    return g()\n\n\ndef g():\n    return f()\n"
    assert name_uses(text).of({2}) == {6}
