"""JAX with Flax NNX and optax: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
