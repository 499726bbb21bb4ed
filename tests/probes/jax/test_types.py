"""Layers of Flax NNX still have the types that the rows of the JAX backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "flax")
    return found


def test_layers_follow_their_weights(facts: dict[str, Any]) -> None:
    """There is no autocast: half and float32 give float32."""
    half, wide = "bfloat16", "float32"
    assert facts["layers"] == {"linear": [half, wide, half], "layer_norm": [half, wide, half]}


def test_a_half_norm_rounds_once(facts: dict[str, Any]) -> None:
    assert facts["norm"] == 0.0


def test_defaults_differ_from_those_of_pytorch(facts: dict[str, Any]) -> None:
    assert facts["eps"] == {"epsilon": 1e-6, "use_fast_variance": True}
    assert facts["gelu"] == {"approximate": True}


def test_layers_draw_masks_of_their_own_after_reseed(facts: dict[str, Any]) -> None:
    assert facts["masks"]
