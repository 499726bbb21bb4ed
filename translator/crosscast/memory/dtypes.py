"""Bytes per element of the dtypes used in training."""

from __future__ import annotations

BYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "uint8": 1,
    "bool": 1,
}
