"""Stock paddle.amp.GradScaler still behaves as the rows of the Paddle backend claim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "paddle", "scaler")
    return found


def test_scaler_switches_itself_off(facts: dict[str, Any]) -> None:
    assert facts["enabled"] == {"before any": False, "float16": True, "bfloat16": False}


def test_scale_falls_to_zero(facts: dict[str, Any]) -> None:
    assert facts["floor"][-1] == 0.0
    assert facts["after_zero"] == {"scale": 0.0, "nan": True}  # nothing noticed it
    assert not any("min" in name for name in facts["parameters"])


def test_scale_grows_to_infinity(facts: dict[str, Any]) -> None:
    assert facts["ceiling"] == [2.0**126, 2.0**127, math.inf, math.inf, math.inf]
    assert not any("max" in name for name in facts["parameters"])


def test_scale_grows_at_the_end_of_every_interval(facts: dict[str, Any]) -> None:
    assert facts["interval"] == [1.0, 1.0, 2.0, 2.0, 2.0, 4.0]


def test_only_consecutive_overflows_back_off(facts: dict[str, Any]) -> None:
    assert facts["consecutive"] == [64.0] * 5 + [32.0]


def test_static_scaler_tells_of_no_skip(facts: dict[str, Any]) -> None:
    static = facts["static"]
    assert static["weights"] == [0.75, 0.75, 0.5]  # it does skip the overflow,
    assert not any(any(state.values()) for state in static["states"])  # but no public state moves
    # What the emitted script does about it.
    never = facts["never"]
    assert never["weights"] == static["weights"]
    assert never["scale"] == 8.0
    assert [state["overflow"] for state in never["states"]] == [False, True, False]


def test_a_new_scale_is_told_used_and_saved(facts: dict[str, Any]) -> None:
    assert facts["new_scale"] == [3.0, 3.0, 3.0]
