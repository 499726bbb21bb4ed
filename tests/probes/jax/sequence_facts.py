"""What masks, dropout, missing values and biases of Flax's layers of sequences mean, as JSON."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

x, y = (jax.random.normal(jax.random.key(seed), (2, 3, 8)) for seed in (1, 2))
attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=nnx.Rngs(0))
dropping = {
    flag: nnx.MultiHeadAttention(
        1,
        8,
        dropout_rate=0.5,
        broadcast_dropout=flag,
        deterministic=False,
        decode=False,
        rngs=nnx.Rngs(0),
    )
    for flag in (True, False)
}
shows = jnp.asarray([[True, True, False]] * 3)
twice = jnp.stack([x[0], x[0]])


def same(a: Any, b: Any) -> bool:
    return float(abs(a - b).max()) < 1e-5


def biases(cell: type) -> list[bool]:
    """Return whether inputs and the state have a bias of their own."""
    made: Any = cell(4, 5, rngs=nnx.Rngs(0))
    pairs = (("dense_i", "dense_h"), ("ii", "hi"))
    names = next(pair for pair in pairs if hasattr(made, pair[0]))
    return [getattr(made, name).bias is not None for name in names]


cells = (nnx.LSTMCell, nnx.OptimizedLSTMCell, nnx.GRUCell, nnx.SimpleCell)
masked = attention(x, mask=shows)
shared, apart = (dropping[flag](twice) for flag in (True, False))
print(
    json.dumps(
        {
            "values are keys": same(attention(x, y), attention(x, y, y)),
            "true shows": same(masked, attention(x, x[:, :2])),
            "numbers are truths": same(masked, attention(x, mask=shows.astype(jnp.float32))),
            "rows share dropout": [same(shared[0], shared[1]), same(apart[0], apart[1])],
            "biases": {cell.__name__: biases(cell) for cell in cells},
        }
    )
)
