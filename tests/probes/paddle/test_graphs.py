"""Decorated optimizers of static programs still are in Paddle 3 what migrating them relies on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import older, run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(
    scope="module", params=["paddle", *(name for name in older("paddle") if "@3." in name)]
)
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("graph_facts.py"), request.param)
    return found


def test_decorate_alone_cannot_scale(facts: dict[str, Any]) -> None:
    assert "check_finite_and_unscale_" in facts["dynamic"]


def test_decorate_alone_casts_nothing(facts: dict[str, Any]) -> None:
    assert facts["one"] == facts["plain"]
    assert not facts["one"]["half"]


def test_a_scaler_that_adjusts_unscales_what_it_scaled(facts: dict[str, Any]) -> None:
    assert facts["scaler"]["weight"] == facts["plain"]["weight"] == 0.5


def test_a_scaler_with_a_constant_scale_divides_only(facts: dict[str, Any]) -> None:
    assert facts["constant scaler"]["weight"] == 1 - 0.5 / 8


def test_the_older_signature_is_not_found_with_more_than_seven_arguments(
    facts: dict[str, Any],
) -> None:
    assert "unexpected keyword argument 'use_pure_fp16'" in facts["eight arguments"]
    assert facts["seven arguments"] == ""
