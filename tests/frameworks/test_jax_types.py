"""Half precision in emitted JAX scripts: which layers compute in what, and what they return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import BFLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax

MODEL = """
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(5, 8, rngs=rngs)
        self.conv = nnx.Conv(8, 8, 3, rngs=rngs)
        self.kept = nnx.Linear(8, 8, dtype=jnp.float32, rngs=rngs)
        self.batch_norm = nnx.BatchNorm(8, use_fast_variance=False, rngs=rngs)
        self.layer_norm = nnx.LayerNorm(8, use_fast_variance=False, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
        self.blocks = nnx.List([nnx.Dict({"dense": nnx.Linear(8, 8, rngs=rngs)})])
        self.gate = nnx.Param(jnp.ones(8))


def build_model(rngs):
    return Net(rngs)


def results(net):
    x = jnp.ones((2, 4, 8), jnp.float32)
    half = net.conv(x)
    return {
        "table": net.table(jnp.zeros(2, int)),
        "conv": half,
        "kept": net.kept(half),
        "batch_norm": net.batch_norm(half),
        "layer_norm": net.layer_norm(half),
        "attention": net.attention(x),
        "inner": net.blocks[0]["dense"](x),
        "logits": net.table.attend(x),
        "gate": net.gate[...] * half,
    }
"""
HALF, WIDE = "bfloat16", "float32"
PRODUCTS = {"conv": HALF, "attention": HALF, "inner": HALF, "logits": HALF}
NORMS = ("batch_norm", "layer_norm")


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (BFLOAT16, {"table": WIDE, "batch_norm": WIDE, "layer_norm": WIDE, "gate": WIDE}),
        (
            BFLOAT16 | {"ops": {"embeddings": "half", "reductions": "float32_stored_half"}},
            {"table": HALF, "batch_norm": HALF, "layer_norm": HALF, "gate": WIDE},
        ),
        (
            BFLOAT16 | {"mode": "full"},
            {"table": HALF, "batch_norm": WIDE, "layer_norm": WIDE, "gate": HALF},
        ),
    ],
    ids=["mixed", "stored half", "full"],
)
def test_layers_of_an_own_model(
    precision: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    """Products are half; a layer with a type of its own keeps it, and weights stay float32."""
    recipe = tiny_recipe(
        version=2,
        model={"kind": "custom", "factory": {"jax": "own:build_model"}},
        precision=precision,
    )
    emit(recipe, "jax", tmp_path)
    (tmp_path / "own.py").write_text(MODEL)
    seen = run_python(Path(__file__).with_name("run_jax_types.py"), "jax", tmp_path)
    assert seen["types"] == PRODUCTS | {"kept": WIDE} | expected
    assert seen["errors"] == {"half": 0.0, "float32": 0.0}


@pytest.mark.parametrize("residual", ["half", "float32"])
def test_a_normalization_of_the_shipped_model_rounds_once(residual: str, tmp_path: Path) -> None:
    """Neither its weights are rounded before, nor the sum that it gets."""
    emit(
        tiny_recipe(version=2, precision=BFLOAT16 | {"ops": {"residual": residual}}),
        "jax",
        tmp_path,
    )
    seen = run_python(Path(__file__).with_name("run_jax_types.py"), "jax", tmp_path)
    assert seen["errors"] == {"half": 0.0, "float32": 0.0}
