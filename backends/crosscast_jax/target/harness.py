"""What the parity harness must know of JAX."""

from __future__ import annotations

from crosscast.targets.harness import Harness

HARNESS = Harness(
    inside="crosscast_jax.inside",
    numeric_variables=("JAX_", "XLA_"),
    packages=("jax", "jaxlib", "flax", "optax"),
)
