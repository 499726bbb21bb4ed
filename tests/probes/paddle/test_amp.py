"""On CPU, Paddle still leaves mixed precision out and goes on with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "paddle", "amp")
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_auto_cast_computes_in_float32_on_cpu(facts: dict[str, Any], dtype: str) -> None:
    assert facts["device"] == "cpu"
    assert not facts["products"][dtype]["half"]
    assert "it makes no effect" in facts["products"][dtype]["warnings"][0]


def test_scaler_is_off_on_cpu(facts: dict[str, Any]) -> None:
    scaler = facts["scaler"]
    assert not scaler["enabled"]
    assert scaler["state"] == {}
    assert scaler["scaled"] == scaler["told"] == 1.0
    assert "it makes no effect" in scaler["warnings"][0]
