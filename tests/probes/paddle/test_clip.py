"""Stock paddle.nn.utils still clips as the rows of the Paddle backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "paddle", "clip")
    return found


@pytest.fixture(scope="module")
def scopes() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("knobs.py"), "paddle", "clip")
    return found


def test_clip_adds_a_fixed_epsilon(facts: dict[str, Any]) -> None:
    assert "eps" not in facts["parameters"]
    assert facts["above"] == {"norm": 5.0, "factor": pytest.approx(1 / (5 + 1e-6), rel=1e-7)}
    assert facts["at"]["factor"] == pytest.approx(1 / (1 + 1e-6), rel=1e-7)
    assert facts["at"]["factor"] < 1.0
    assert facts["below"]["factor"] == 1.0
    assert facts["tiny"]["factor"] == pytest.approx(1 / 1.1, rel=1e-6)


def test_the_norm_of_large_tensors_loses_digits(facts: dict[str, Any]) -> None:
    large = facts["large"]
    assert large["clip_grad_norm_"] == large["linalg.norm"] < -1e-4
    assert abs(large["root of the sum"]) < 1e-6


def test_value_clipping_hides_infinities_but_not_nan(facts: dict[str, Any]) -> None:
    assert facts["values"] == [-1.0, 0.5, 1.0]
    assert facts["nan_stays"]


def test_need_clip_is_ignored(scopes: dict[str, Any]) -> None:
    assert scopes["need_clip"]["norm"] == pytest.approx([0.6, 0.8], rel=1e-6)
    assert scopes["need_clip"]["value"] == [1.0, 1.0]


def test_clipping_by_each_norm_has_no_epsilon(scopes: dict[str, Any]) -> None:
    assert scopes["arguments"] == ["clip_norm"]
    assert scopes["each"] == [-0.5, -1.0]  # exactly the limit
