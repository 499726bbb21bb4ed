"""Why the script has optimizers of its own (CC322 to CC324, CC329, CC332, CC374 to CC379,
CC398)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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


def test_adam_rounds_its_corrections(facts: dict[str, Any]) -> None:
    # The first step of Adam has the length of the rate, up to the rounding of 1 - 0.999.
    assert 2e-6 < abs(facts["adam rounding"][0] + 1.0) < 2e-5


def test_lion_takes_one_minus_beta_in_float32(facts: dict[str, Any]) -> None:
    for beta, share in facts["lion shares"].items():  # 1.4e-3 off for 0.99999
        assert share == pytest.approx(1 - float(np.float32(beta)), rel=1e-6)


def test_adamw_subtracts_its_decay_weight_by_weight(facts: dict[str, Any]) -> None:
    """Weights round on their own: on the average the decay is right, as far as float32 knows it."""
    assert facts["decays"]["5e-05"] == pytest.approx(1.0, abs=5e-3)
    assert facts["decays"]["0.001"] == pytest.approx(1.0, abs=1e-4)


def test_adam_cannot_leave_its_correction_out(facts: dict[str, Any]) -> None:
    names = facts["adam arguments"]
    assert "amsgrad" in names
    assert not [name for name in names if "bias" in name or "correct" in name]


def test_lamb_decays_beside_its_step(facts: dict[str, Any]) -> None:
    assert facts["lamb"] == [pytest.approx(0.95)]  # within the step: 1 - 0.5 * 1


def test_adafactor_adds_epsilon_to_every_square(facts: dict[str, Any]) -> None:
    assert facts["adafactor"] == [pytest.approx(0.995, rel=1e-4)]  # as a floor: 0.95


def test_optimizers_have_no_groups(facts: dict[str, Any]) -> None:
    names = facts["adam arguments"]
    assert "weight_decay" in names
    assert not [name for name in names if "group" in name or "params" in name]


def test_a_frozen_model_trains_what_the_first_batch_saw(facts: dict[str, Any]) -> None:
    assert facts["frozen"] == {"weights": 0, "after compile": False, "after a batch": True}  # CL720


def test_use_ema_averages_every_micro_batch(facts: dict[str, Any]) -> None:
    # It also begins with the first update, not with the weights before it.
    assert facts["averages"] == [0.0, -1.0, -1.0, -1.5, -1.75, -2.375]
