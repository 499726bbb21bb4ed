"""Types of layers in an emitted JAX script, as JSON: `run_jax_types.py FOLDER`.

FOLDER is that of a script with the shipped model, or with one of the user's in `own.py`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

HALF = jnp.bfloat16


def error(norm: Any, rows: jax.Array) -> float:
    """Return how far a normalization is from float32 arithmetic with one rounding at its end."""
    scales = jnp.linspace(0.9, 1.1, norm.num_features)  # most are no numbers of bfloat16
    norm.scale[...] = scales

    def both(rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        wide = rows.astype(jnp.float32)
        middle = wide - wide.mean(-1, keepdims=True)
        variance = jnp.square(middle).mean(-1, keepdims=True)
        exact = middle * (jax.lax.rsqrt(variance + norm.epsilon) * scales)
        return norm(rows), exact.astype(norm.dtype or jnp.float32)

    given, rounded = (np.asarray(x, np.float32) for x in jax.jit(both)(rows))
    return float(np.abs(given - rounded).max())


def errors(norm: Any) -> dict[str, float]:
    """Return the errors for rows of both types."""
    drawn = np.random.default_rng(0).normal(3.0, 5.0, (16, norm.num_features))
    rows = {"half": jnp.asarray(drawn, HALF), "float32": jnp.asarray(drawn, jnp.float32)}
    return {name: error(norm, given) for name, given in rows.items()}


def main(folder: str) -> None:
    """Print what the layers return, and the errors of a LayerNorm."""
    sys.path.insert(0, folder)
    if (Path(folder) / "model.py").exists():
        model = importlib.import_module("model")
        print(json.dumps({"errors": errors(model.norm(nnx.Rngs(0)))}))
        return
    own, train = importlib.import_module("own"), importlib.import_module("train")
    state = train.start(own.build_model(nnx.Rngs(0)))
    weights = state.arrays.weights
    if hasattr(train, "half_copies"):
        weights = train.half_copies(state.graph, state.arrays)
    model = nnx.merge(state.graph, weights, state.arrays.rest)
    model.eval()
    shapes = nnx.eval_shape(own.results, model)
    types = {name: str(shape.dtype) for name, shape in shapes.items()}
    print(json.dumps({"types": types, "errors": errors(model.layer_norm)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
