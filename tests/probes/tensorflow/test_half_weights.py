"""Why half weights have copies in float32, and what a half policy means (CC330, CC331, CC377)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_small_updates_of_half_weights_are_lost(facts: dict[str, Any]) -> None:
    assert facts["half"]["weight"] == 1.0  # 100 updates of 0.0001


def test_dense_layers_compute_in_the_type_they_hold(facts: dict[str, Any]) -> None:
    assert facts["half"]["dense"] == ["float16", "float16"]


def test_a_half_policy_holds_for_normalization(facts: dict[str, Any]) -> None:
    assert facts["half"]["norm"] == "float16"


def test_only_in_bfloat16_every_step_of_a_loss_is_rounded(facts: dict[str, Any]) -> None:
    assert facts["row_losses"]["float16"] < 2.0**-10  # one rounding of the result
    assert facts["row_losses"]["bfloat16"] > 4 * 2.0**-8
