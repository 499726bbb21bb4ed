"""The gradients of a window before a program clipped them, from what `jax.grad` returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

SAME = 1e-5
"""Relative difference of arrays below which they are the same."""
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def before_clips(handed: Arrays, summed: Arrays, passes: int) -> Arrays | None:
    """Compute the gradients of a window before anything but a division was done to them.

    Their sum may be divided by the number of backward passes. By which of the two a limit on their
    norm was exceeded does not show, and does not matter: what is left is the same.

    Args:
        handed: what the optimizer got.
        summed: the sum of what the backward passes returned.
        passes: their number.

    Returns:
        The gradients; None if they cannot be told from those that were changed.
    """
    if not handed.keys() <= summed.keys() or not passes:
        return None
    whole = {name: summed[name] for name in handed}
    mean = {name: array / passes for name, array in whole.items()}
    if near(handed, whole) or near(handed, mean):
        return handed
    factor = _factor(handed, whole)
    is_scaled = near(handed, {name: factor * array for name, array in whole.items()})
    if passes > 1 and not (is_scaled and 0 < factor < 1):
        return None
    total = whole if factor > 1 / passes or passes == 1 else mean
    return {name: array.astype(np.float32) for name, array in total.items()}


def _factor(left: Arrays, right: Arrays) -> float:
    """Return the factor that brings arrays closest to others."""
    size = sum(float(np.vdot(right[n], right[n])) for n in right)
    return sum(float(np.vdot(left[n], right[n])) for n in right) / size if size else 1.0


def near(left: Arrays, right: Arrays) -> bool:
    """Whether arrays are the same but for rounding."""
    apart = sum(float(np.sum((left[n] - np.asarray(right[n], np.float64)) ** 2)) for n in left)
    size = sum(float(np.sum(np.asarray(right[n], np.float64) ** 2)) for n in left)
    return apart <= SAME * SAME * size
