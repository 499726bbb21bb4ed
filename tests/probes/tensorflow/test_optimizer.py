"""Why the script's optimizers compute their directions themselves (CC322, CC323, CC324, CC329)."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = pytest.mark.tensorflow


def test_adam_adds_epsilon_before_the_bias_correction(facts: dict[str, Any]) -> None:
    gradient = epsilon = 1e-3
    corrected = -gradient / (gradient + epsilon)
    raw = -math.sqrt(0.001) * gradient / (math.sqrt(0.001) * gradient + epsilon)
    assert facts["adam"] == [pytest.approx(raw, rel=1e-4)]
    assert facts["adam"][0] != pytest.approx(corrected, rel=0.5)


def test_weight_decay_of_adam_is_decoupled(facts: dict[str, Any]) -> None:
    assert facts["adam decay"] == [pytest.approx(0.95)]  # coupled: a full step of 0.5


def test_weight_decay_of_sgd_is_decoupled(facts: dict[str, Any]) -> None:
    assert facts["sgd decay"] == [pytest.approx(0.95), pytest.approx(0.95**2)]


def test_momentum_holds_past_learning_rates(facts: dict[str, Any]) -> None:
    assert facts["momentum"] == [-1.0, -1.5, -1.75]  # the last two steps have the rate 0


def test_normalization_layers_share_their_names(facts: dict[str, Any]) -> None:
    names = facts["names"]
    assert names["layer"] == names["batch"] == names["group"] == ["gamma", "beta"]


def test_roles_have_these_names(facts: dict[str, Any]) -> None:
    assert facts["names"]["dense"] == ["kernel", "bias"]
    assert facts["names"]["embedding"] == ["embeddings"]
