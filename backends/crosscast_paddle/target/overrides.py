"""Settings below `overrides.paddle`."""

from __future__ import annotations

from typing import Literal

from crosscast.recipe.document import Section


class PaddleOverrides(Section):
    """What only Paddle knows."""

    amp_level: Literal["O1"] = "O1"
    """Level of auto_cast; O1 keeps the parameters in float32, as the recipe says."""
