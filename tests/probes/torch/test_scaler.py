"""Stock torch.amp.GradScaler still behaves as the rows of the PyTorch backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "torch", "scaler")
    return found


def test_scaler_is_always_dynamic(facts: dict[str, Any]) -> None:
    assert facts["always_dynamic"] == [512.0, 1024.0, 2048.0]
    assert not {"dynamic", "static"} & set(facts["parameters"])
    # What the emitted script does about it, and about bounds and hysteresis.
    assert facts["new_scale"] == [3.0, 0.75]


def test_scale_falls_below_any_floor(facts: dict[str, Any]) -> None:
    assert facts["floor"][-1] == 0.0
    assert facts["after_zero"] == {"scale": 0.0, "nan": True}  # nothing noticed it
    assert not any("min" in name for name in facts["parameters"])


def test_scale_grows_above_any_ceiling(facts: dict[str, Any]) -> None:
    assert facts["ceiling"][:3] == [2.0, 4.0, 8.0]
    assert facts["ceiling"][-13:] == [2.0**127] * 13  # kept where the next would be inf
    assert not any("max" in name for name in facts["parameters"])


def test_scaler_backs_off_at_first_overflow(facts: dict[str, Any]) -> None:
    assert facts["first_overflow"] == [1024.0, 512.0, 512.0, 256.0]
    assert "hysteresis" not in facts["parameters"]


def test_scale_grows_at_the_end_of_every_interval(facts: dict[str, Any]) -> None:
    assert facts["interval"] == [1.0, 1.0, 2.0, 2.0, 2.0, 4.0]


def test_fused_momentum_starts_uninitialised(facts: dict[str, Any]) -> None:
    assert facts["momentum_fused"] == {"momentum_nan": True, "weight_nan": True}
    assert facts["momentum_plain"] == {"momentum_nan": False, "weight_nan": False}
