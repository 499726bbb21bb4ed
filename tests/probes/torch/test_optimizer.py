"""Stock torch.optim still does what the rows of the PyTorch backend claim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "torch", "optimizer")
    return found


def test_there_is_no_lamb_and_no_lion(facts: dict[str, Any]) -> None:
    assert not {"lamb", "lion"} & set(facts["names"])
    assert "adamw" in facts["names"]


def test_sgd_has_the_rate_outside_the_momentum(facts: dict[str, Any]) -> None:
    outside = 1.0 - 0.25 * 1.0 - 0.5 * 1.5
    inside = 1.0 - 0.25 - (0.5 * 0.25 + 0.5)
    assert facts["momentum"] == outside != inside
    assert not [name for name in facts["sgd"] if "rate" in name]


def test_adam_always_corrects_the_bias(facts: dict[str, Any]) -> None:
    assert facts["adam_at_once"] == pytest.approx(1.0 - 0.25, rel=1e-12)
    assert not [n for n in (*facts["adam"], *facts["adamw"]) if "bias" in n or "correct" in n]


def test_adam_adds_epsilon_behind_the_correction(facts: dict[str, Any]) -> None:
    # Moments 0.5 and 0.25, corrections 0.5 and 0.25.
    assert facts["adam_epsilon"] == pytest.approx(1.0 - 0.25 * 1.0 / (1.0 + 1.0), rel=1e-12)
    before = 1.0 - 0.25 * math.sqrt(0.25) / 0.5 * 0.5 / (math.sqrt(0.25) + 1.0)
    assert facts["adam_epsilon"] != pytest.approx(before, rel=1e-3)


def test_adafactor_is_the_stock_one(facts: dict[str, Any]) -> None:
    """The class that scripts for PyTorch before 2.5 bring along follows it."""
    assert {"lr", "beta2_decay", "eps", "d", "weight_decay"} <= set(facts["adafactor"])
    once = 1.0 - 0.25 * 1.0  # rms of the weight times the rate; the direction is 1
    assert facts["adafactor_step"] == pytest.approx(once - 0.25 * once, rel=1e-6)


def test_optimizers_update_half_weights_in_half(facts: dict[str, Any]) -> None:
    assert facts["float32_weight"] == 1.0 - 8 * 2.0**-12
    assert facts["half_weight"] == 1.0  # every step was rounded away


@pytest.mark.parametrize("optimizer", ["AdamW", "Adafactor"])
def test_the_factor_of_a_decay_is_rounded(facts: dict[str, Any], optimizer: str) -> None:
    """All weights are multiplied by the same 1 - rate * decay in float32: no mean is right."""
    shares = facts["decays"][optimizer]
    for rate, share in shares.items():  # 19 % too much at 1e-5, 5 % too little at 5e-5
        rounded = 1 - float(np.float32(1 - float(rate) * 0.01))
        assert share == pytest.approx(rounded / (float(rate) * 0.01), abs=5e-3)
    assert shares["5e-05"] == pytest.approx(0.9536, abs=1e-3)


def test_the_average_copies_at_first(facts: dict[str, Any]) -> None:
    assert facts["average"] == [2.0, 2.5]  # not 1.5, then 2.25
