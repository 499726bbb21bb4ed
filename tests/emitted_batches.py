"""Micro-batches of rows in memory, in the order of an emitted script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


def batches(
    row_numbers: Callable[..., Iterator[list[np.ndarray]]],
    rows: Mapping[str, np.ndarray],
    settings: Any,
    start: int = 0,
    rank: int = 0,
) -> Iterator[list[dict[str, np.ndarray]]]:
    """Yield windows of micro-batches for ever, by the script's `row_numbers`."""
    n_rows = len(next(iter(rows.values())))
    for window in row_numbers(n_rows, settings, start, rank):
        yield [{name: array[numbers] for name, array in rows.items()} for numbers in window]
