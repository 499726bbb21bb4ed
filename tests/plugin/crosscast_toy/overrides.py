"""Settings of a recipe below `overrides.toy`."""

from __future__ import annotations

from crosscast.recipe.document import Section


class ToyOverrides(Section):
    """Settings below `overrides.toy`."""

    strict: bool = False
    """Raise at the first number that overflows or is none."""
