"""Settings below `overrides.jax`."""

from __future__ import annotations

from crosscast.recipe.document import Section


class JaxOverrides(Section):
    """What only JAX knows: nothing so far."""
