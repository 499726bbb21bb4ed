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


@pytest.fixture(scope="module")
def formulas() -> dict[str, Any]:
    program = Path(__file__).with_name("knobs.py")
    found: dict[str, Any] = run_python(program, "paddle", "optimizer")
    return found


def test_weight_decay_asks_by_generated_names(facts: dict[str, Any]) -> None:
    assert all(name.endswith((".w_0", ".b_0")) for name in facts["asked"])
    decayed = pytest.approx(1 - 0.5 * 0.1)
    assert facts["by_name"] == {"weight": decayed, "bias": decayed}  # `bias` exempts nothing


def test_rates_of_parameters_are_factors(facts: dict[str, Any]) -> None:
    assert facts["with_factor"] == pytest.approx(0.5 * 0.25)  # CL813


def test_augmented_assignments_make_new_tensors(facts: dict[str, Any]) -> None:
    assert facts["kept_by_augment"] == [False, False]  # CL304, CL519


def test_names_of_moments(facts: dict[str, Any]) -> None:
    names = ["_beta1_pow_acc_0", "_beta2_pow_acc_0", "_moment1_0", "_moment2_0"]
    assert facts["suffixes"] == names


def test_powers_of_the_betas_are_rounded_after_every_factor(facts: dict[str, Any]) -> None:
    products = [np.full(41, beta, np.float32).prod() for beta in (0.9, 0.99)]
    assert facts["powers"] == [float(product) for product in products]


def test_lion_and_adafactor_are_missing(formulas: dict[str, Any]) -> None:
    assert formulas["present"] == ["Adam", "AdamW", "Lamb"]


def test_the_rate_is_outside_the_momentum(formulas: dict[str, Any]) -> None:
    first, second = formulas["momentum"]
    assert second == first  # a momentum of steps would go on at a rate of 0


def test_the_bias_is_always_corrected(formulas: dict[str, Any]) -> None:
    assert formulas["adam"] == pytest.approx(1.0)  # uncorrected: 0.1 / sqrt(0.001)
    for arguments in formulas["arguments"].values():
        assert not [name for name in arguments if "correct" in name or "bias" in name]


def test_epsilon_is_added_behind_the_correction(formulas: dict[str, Any]) -> None:
    assert formulas["adam_eps"] == pytest.approx(0.25 / (0.25 + 0.25))


def test_adamw_subtracts_its_decay_weight_by_weight(formulas: dict[str, Any]) -> None:
    """Weights round on their own: on the average the decay is right, as far as float32 knows it."""
    assert formulas["decays"]["5e-05"] == pytest.approx(1.0, abs=5e-3)
    assert formulas["decays"]["0.001"] == pytest.approx(1.0, abs=1e-4)


def test_kernels_take_one_minus_beta_in_float32(formulas: dict[str, Any]) -> None:
    for beta, found in formulas["shares"].items():
        rounded = 1 - float(np.float32(beta))  # 1.4e-3 off for 0.99999
        assert found == dict.fromkeys(
            ("Adam", "AdamW", "Lamb"), [pytest.approx(rounded, rel=1e-6)] * 2
        )


def test_lamb_adapts_as_the_recipe_says(formulas: dict[str, Any]) -> None:
    lamb = formulas["lamb"]
    assert lamb["decayed"] == pytest.approx(3.0)  # as far as the weight is from 0
    assert lamb["always"] == pytest.approx(3.0)
    assert lamb["zero decay"] == pytest.approx(1.0, rel=1e-5)  # then it is Adam
    assert lamb["zero weight"] == pytest.approx(1.0, rel=1e-5)
