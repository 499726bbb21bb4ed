"""Rounding to half precision and back, on float32 arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crosscast.plan.operations import Dtype

Float32Array = npt.NDArray[np.float32]

_KEPT = np.uint32(0xFFFF0000)  # bfloat16 is the upper half of a float32
_QUIET_NAN = np.uint32(0x00400000)
_JUST_BELOW_HALF = np.uint32(0x7FFF)


def round_to(array: npt.NDArray[Any], dtype: Dtype) -> Float32Array:
    """Return a new float32 array with the values of `array` rounded to `dtype`.

    Rounds to nearest, ties to even. Too large values become infinite, small ones subnormal and
    then zero, signs and nan stay. An array that is not float32 is converted to it first.
    """
    if dtype == "float32" and array.dtype == np.float32:
        return np.array(array)
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "float32":
            return np.array(array, dtype=np.float32)
        values = np.asarray(array, dtype=np.float32)
        if dtype == "float16":
            return values.astype(np.float16).astype(np.float32)
    return _round_bfloat16(values)


def _round_bfloat16(values: Float32Array) -> Float32Array:
    bits = values.reshape(-1).view(np.uint32)  # one axis: NumPy scalars would warn on wrap-around
    ties_to_even = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + _JUST_BELOW_HALF + ties_to_even) & _KEPT
    # The carry would turn a nan into infinity or zero, so it is truncated to a quiet nan.
    rounded = np.where(np.isnan(values.reshape(-1)), (bits | _QUIET_NAN) & _KEPT, rounded)
    return rounded.view(np.float32).reshape(values.shape)
