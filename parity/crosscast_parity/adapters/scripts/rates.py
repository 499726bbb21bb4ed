"""The learning rate of emitted.py, whose recipe may have a constant one."""

from __future__ import annotations

import emitted


def learning_rate(position: int) -> float:
    """Return the rate of an optimizer step; a script with a constant rate has no function."""
    if hasattr(emitted, "learning_rate"):
        return float(emitted.learning_rate(position))
    return float(emitted.LEARNING_RATE)
