"""Settings below `overrides.tensorflow`."""

from __future__ import annotations

from crosscast.recipe.document import Section


class TensorflowOverrides(Section):
    """What only TensorFlow knows."""

    jit_compile: bool = False
    """Compile forward, backward and optimizer step with XLA."""
