"""Why the script clips the global norm by itself (CC325)."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_clip_by_global_norm_has_no_epsilon(facts: dict[str, Any]) -> None:
    assert facts["clipped"] == [pytest.approx(-1e-5, rel=1e-6)]  # with 1e-6: -0.91e-5
    assert facts["clip arguments"] == ["t_list", "clip_norm", "use_norm", "name"]


def test_a_norm_beyond_float32_makes_nan(facts: dict[str, Any]) -> None:
    assert all(math.isnan(value) for value in facts["clipped huge"])
