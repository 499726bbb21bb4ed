"""Mistakes with optax, Flax and transformations of JAX."""
