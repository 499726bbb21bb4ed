"""Stock Paddle is still as dangerous as the emitted scripts take it to be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import older, run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module", params=["paddle", *older("paddle")])
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("hazards.py"), request.param)
    return found


def test_two_optimizers_share_one_flag(facts: dict[str, Any]) -> None:
    stepped, unscaled = facts["two"]
    assert stepped == {"overflowed": 1.0, "other": 0.75, "scale": 8.0}  # no back-off
    assert math.isnan(unscaled["overflowed"])
    assert unscaled["scale"] == 8.0


def test_gradients_vanish_above_two_to_the_126(facts: dict[str, Any]) -> None:
    assert facts["unscaled"] == [0.25, 0.0]


def test_a_back_off_converts_as_numpy_2_4_forbids(facts: dict[str, Any]) -> None:
    assert facts["back_off"]["stock"]
    assert facts["back_off"]["never"] == ""  # what the emitted scripts use


def test_clip_with_one_limit_makes_infinity_finite(facts: dict[str, Any]) -> None:
    assert facts["clipped_inf"] == pytest.approx(3.4028235e38)  # so Adafactor uses maximum
