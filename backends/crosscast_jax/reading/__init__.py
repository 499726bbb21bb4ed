"""Readers of JAX programs and of configurations for them."""
