"""Reading holds for inputs at random: no traceback, no control character, bounded time."""

from __future__ import annotations

import pytest

from fuzz.reading import broken, inputs
from tiers import exhaustive


def test_some_inputs_are_read() -> None:
    assert [*broken(1, 150)] == []


@exhaustive("10,000 inputs at random, minutes")
@pytest.mark.timeout(0)
def test_many_inputs_are_read() -> None:
    assert [*broken(2, 10_000)] == []


def test_inputs_depend_on_the_seed_alone() -> None:
    assert [*inputs(3, 20)] == [*inputs(3, 20)] != [*inputs(4, 20)]
