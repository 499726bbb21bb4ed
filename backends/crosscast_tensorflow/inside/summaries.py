"""What is kept of a tensor, and by how much a perturbed run moves it."""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDING = 2.0**-20
"""How far a perturbed run is moved, in root mean squares of each tensor: two versions of TensorFlow
sum in other orders."""


def pattern(count: int) -> Any:
    """Return the first numbers of the fixed vector."""
    return np.cos(np.arange(1, count + 1, dtype=np.float64) * 1.618033988749895)


def summary(flat: Any) -> list[float]:
    """Return number of elements, norm and projection."""
    with np.errstate(all="ignore"):
        norm = float(np.sqrt(np.sum(flat * flat)))
        return [len(flat), norm, float(np.sum(flat * pattern(len(flat))))]
