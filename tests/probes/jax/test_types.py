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


def test_gelu_is_an_approximation() -> None:
    facts: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "jax")
    assert facts["gelu"] == {"approximate": True}


def test_types_can_be_set_as_emitted_scripts_do(facts: dict[str, Any]) -> None:
    """Normalizations and embeddings get their numbers from a function that can be another one."""
    norms = {"BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm"}
    assert norms | {"Embed"} <= set(facts["promotes"])
    assert facts["accessors"] == ["get_value", "set_value"]


def test_layers_draw_masks_of_their_own_after_reseed(facts: dict[str, Any]) -> None:
    assert facts["masks"]


def test_the_writer_for_tensorboard_needs_tensorflow(facts: dict[str, Any]) -> None:
    assert "tensorflow" in facts["events"]
