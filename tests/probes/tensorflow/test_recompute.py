"""Why dropout draws from a seed where activations are recomputed (CC373)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("dropout", ["layer", "function"])
def test_recompute_grad_draws_new_masks(facts: dict[str, Any], dropout: str) -> None:
    assert facts[f"recomputed {dropout}"] == [False] * 3


def test_recompute_grad_keeps_seeded_masks(facts: dict[str, Any]) -> None:
    assert facts["recomputed seeded"] == [True] * 3
