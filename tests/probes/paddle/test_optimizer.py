"""Stock Paddle optimizers still name parameters and moments as the emitted script expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "paddle", "optimizer")
    return found


def test_weight_decay_asks_by_generated_names(facts: dict[str, Any]) -> None:
    assert all(name.endswith((".w_0", ".b_0")) for name in facts["asked"])
    decayed = pytest.approx(1 - 0.5 * 0.1)
    assert facts["by_name"] == {"weight": decayed, "bias": decayed}  # `bias` exempts nothing


def test_names_of_moments(facts: dict[str, Any]) -> None:
    names = ["_beta1_pow_acc_0", "_beta2_pow_acc_0", "_moment1_0", "_moment2_0"]
    assert facts["suffixes"] == names


def test_powers_of_the_betas_are_rounded_after_every_factor(facts: dict[str, Any]) -> None:
    products = [np.full(41, beta, np.float32).prod() for beta in (0.9, 0.99)]
    assert facts["powers"] == [float(product) for product in products]
