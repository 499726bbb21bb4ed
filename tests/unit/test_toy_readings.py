"""Whose roundings of constants a comparison of the toy allows."""

from __future__ import annotations

import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast_parity.toy.compare import Seen
from crosscast_parity.toy.readings import readings
from recipe_texts import recipe_of


@pytest.mark.parametrize(
    ("framework", "on_gpu", "count"),
    [("torch", False, 1), ("torch", True, 2), ("paddle", False, 2), ("tensorflow", False, 2)],
)
def test_pytorch_rounds_betas_on_a_gpu_only(framework: str, on_gpu: bool, count: int) -> None:
    seen = Seen([], [], [], {}, float32_betas=on_gpu)
    assert len(readings(canonical_plan(recipe_of()), framework, seen)) == count
