"""Numbers as a person would have written them, free of the rounding of a computation."""

from __future__ import annotations

import math
import struct

_DIGITS = 12
_ROUNDINGS = 4
"""By how many units in the last place a few products may miss what they stand for."""


def nearby(value: float) -> float:
    """Return the short decimal that a computed double stands for: 0.0006 of 0.0005999999999999998.

    The value itself if there is none within the rounding of a few products. Not for numbers that a
    source writes: those are what they are.
    """
    if not math.isfinite(value):
        return value
    short = float(f"{value:.{_DIGITS}g}")
    return short if abs(short - value) <= _ROUNDINGS * math.ulp(value) else value


def shortest(value: float) -> float:
    """Return the shortest decimal that a recorded number stands for.

    0.01 of 0.009999999776482582, which is a float32 in a double; of a computed double, `nearby`.
    """
    if not math.isfinite(value):
        return value
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if _single(short) == value:
            return short
    return nearby(value)


def _single(value: float) -> float:
    """Return a number rounded to float32; infinity if that cannot hold it."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.inf
