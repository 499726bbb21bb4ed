"""PyTorch's kernels in half compute in float32 and round their result once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch

HALVES = ("float16", "bfloat16")
UNIT = {"float32": 2.0**-22, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("half_kernels.py"), "torch")
    return found


@pytest.mark.parametrize("dtype", HALVES)
def test_kernels_round_once(dtype: str, facts: dict[str, Any]) -> None:
    shares = facts["kernels"][dtype]
    assert shares.keys() == {"gelu", "tanh", "softmax", "layer_norm"}
    # A vectorized tanh and the order of a sum may move a float32 result across a rounding border.
    assert min(shares.values()) > 0.995, shares


@pytest.mark.parametrize("dtype", HALVES)
def test_long_sums_are_float32(dtype: str, facts: dict[str, Any]) -> None:
    sums = facts["long sums"][dtype]
    assert sums["softmax"] == [1.0]
    assert sums["layer_norm"] == pytest.approx([1.0, -1.0], abs=2 * UNIT[dtype])


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_fused_attention_keeps_no_scores(dtype: str, facts: dict[str, Any]) -> None:
    attention = facts["attention"][dtype]
    assert attention["largest kept"] <= attention["inputs"] < attention["scores"]
    assert attention["difference"] <= 4 * UNIT[dtype]
