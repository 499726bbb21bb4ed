"""Types of the flags of mixed precision, as --use_fp16 scripts have them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

LARGEST_SCALE = 2.0**126


def boolean(text: str) -> bool:
    """Parse true, t, 1, false, f or 0."""
    if text.lower() not in ("true", "t", "1", "false", "f", "0"):
        raise ValueError(text)
    return text.lower() in ("true", "t", "1")


def false(text: str) -> bool:
    """Parse false."""
    if boolean(text):
        raise argparse.ArgumentTypeError("true needs a script made from another recipe")
    return False


def scale_between(least: float, most: float) -> Callable[[str], float]:
    """Return what parses a loss scale within bounds; scales are float32 numbers."""

    def loss_scale(text: str) -> float:
        value = float(np.float32(text))
        if not 0 < value <= LARGEST_SCALE or not least <= value <= most:
            raise ValueError(text)
        return value

    return loss_scale


def above_one(text: str) -> float:
    """Parse a finite number above 1."""
    value = float(text)
    if not 1 < value < math.inf:
        raise ValueError(text)
    return value


def below_one(text: str) -> float:
    """Parse a number between 0 and 1."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value
