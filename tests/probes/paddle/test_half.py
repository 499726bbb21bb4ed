"""Half precision on CPU: what Paddle lacks, and what the emulation stands on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle

MISSING = {"matmul", "linear", "add", "softmax", "gelu", "layer_norm"}


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("half_facts.py"), "paddle")
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_cpu_has_no_half_kernels_but_those_that_move_data(
    facts: dict[str, Any], dtype: str
) -> None:
    kernels = facts["kernels"][dtype]
    assert {name for name, there in kernels.items() if not there} == MISSING


def test_casts_round_overflow_and_flush_gradients(facts: dict[str, Any]) -> None:
    assert facts["gradients"] == {"1e5": "inf", "1e-8": "0.0", "2049": "2048.0"}


def test_the_cast_to_float16_takes_tiny_numbers_for_others(facts: dict[str, Any]) -> None:
    """Zero is right: a shift wraps around in the kernel for CPU. Emulation mends it."""
    assert facts["tiny"]["1e-29"] == facts["tiny"]["1e-22"] == 0.0
    assert facts["tiny"]["2e-27"] == 2.0**-24
    assert facts["tiny"]["-3e-24"] == pytest.approx(-5.5e-5, rel=0.01)
    assert facts["tiny_gradient"] == -facts["tiny"]["-3e-24"]


def test_layers_take_weights_of_their_own_type(facts: dict[str, Any]) -> None:
    stored = facts["stored"]
    names = ("matmul", "layer_norm", "gelu", "dropout", "tanh", "add", "softmax")
    assert {name: stored[name][0] for name in names} == dict.fromkeys(names, "bfloat16")
    assert stored["layer_norm"] == ["bfloat16", "float32", "float32"]  # mean and variance


def test_operations_can_be_wrapped(facts: dict[str, Any]) -> None:
    assert facts["wrappers"]
