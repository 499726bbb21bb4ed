"""Rounding to float32, the dtype in which every framework stores loss scales."""

from __future__ import annotations

import struct

FLOAT32_CEILING = 2.0**128 - 2.0**103
"""The smallest positive number that rounds to infinity in float32."""


def float32(value: float) -> float:
    """Round a number below `FLOAT32_CEILING` to float32, the dtype of loss scales."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
