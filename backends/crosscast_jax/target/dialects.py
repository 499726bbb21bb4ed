"""API generations of JAX that can be emitted."""

from __future__ import annotations

from crosscast.targets.backend import Dialect

DIALECTS = (
    Dialect(
        name="jax",
        title="JAX 0.10 or newer (Flax NNX)",
        since="0.10",
        newest="0.10",
        requirements=(
            "jax>=0.10",
            "flax>=0.12.8",
            "optax>=0.2.8",
            "numpy>=2.0",
            "safetensors>=0.6",
        ),
    ),
)
