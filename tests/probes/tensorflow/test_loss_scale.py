"""Why the script has a loss scale of its own (CC320, CC321)."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_scale_grows_to_infinity(facts: dict[str, Any]) -> None:
    assert facts["scales grow"] == [2.0**127, math.inf, math.inf, math.inf]


def test_scale_falls_to_zero(facts: dict[str, Any]) -> None:
    assert facts["scales fall"] == [2.0**-126, 0.0, 0.0]


def test_scale_backs_off_at_the_first_overflow(facts: dict[str, Any]) -> None:
    assert facts["scales back off"] == [512.0, 1024.0, 512.0]


def test_factors_bounds_and_hysteresis_are_no_arguments(facts: dict[str, Any]) -> None:
    words = ("factor", "min", "max", "hysteresis", "backoff", "decr")
    names = facts["scaler arguments"]
    assert "dynamic_growth_steps" in names
    assert not [name for name in names if any(word in name for word in words)]


def test_static_scale_applies_infinite_gradients(facts: dict[str, Any]) -> None:
    assert facts["static"] == [-math.inf]
