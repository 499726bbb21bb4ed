"""Stock torch.nn.utils still clips as the rows of the PyTorch backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "torch", "clip")
    return found


def test_clip_adds_a_fixed_epsilon(facts: dict[str, Any]) -> None:
    assert "eps" not in facts["parameters"]
    assert facts["above"] == {"norm": 5.0, "factor": pytest.approx(1 / (5 + 1e-6), rel=1e-12)}
    assert facts["at"]["factor"] == pytest.approx(1 / (1 + 1e-6), rel=1e-12)
    assert facts["tiny"]["factor"] == pytest.approx(1e-5 / (1e-5 + 1e-6), rel=1e-12)


def test_clip_leaves_small_gradients_alone(facts: dict[str, Any]) -> None:
    assert facts["below"] == {"norm": 0.5, "factor": 1.0}


def test_value_clip_hides_inf_and_keeps_nan(facts: dict[str, Any]) -> None:
    assert facts["values"] == [-1.0, 0.5, 1.0]
    assert facts["nan_stays"]


def test_clip_takes_the_norm_of_all(facts: dict[str, Any]) -> None:
    assert facts["together"] == [5.0, pytest.approx(1.5), pytest.approx(2.0)]
    assert not {"per_parameter", "each"} & set(facts["parameters"])
