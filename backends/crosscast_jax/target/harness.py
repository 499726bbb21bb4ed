"""What the parity harness must know of JAX."""

from __future__ import annotations

from crosscast.targets.harness import Harness, Updates

HARNESS = Harness(
    inside="crosscast_jax.inside",
    numeric_variables=("JAX_", "XLA_"),
    packages=("jax", "jaxlib", "flax", "optax"),
    updates=Updates(
        modules=("jax", "optax", "flax.nnx", "flax.linen", "flax.training.dynamic_scale"),
    ),
)
