"""Half weights in stock Paddle still behave as the rows of the Paddle backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import older, run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module", params=["paddle", *older("paddle")])
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    program = Path(__file__).with_name("knobs.py")
    found: dict[str, Any] = run_python(program, request.param, "half")
    return found


def test_gradients_of_half_weights_are_summed_in_half(facts: dict[str, Any]) -> None:
    assert facts["half"]
    assert facts["sum"] == 2048.0  # and 1 more is lost


def test_decorate_does_nothing_on_a_cpu(facts: dict[str, Any]) -> None:
    assert not facts["decorated"]
