"""Made-up rows for windows of emitted scripts with the shipped BERT."""

from __future__ import annotations

from typing import Any

import numpy as np


def rows_of(options: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return as many rows as a window has, of ids below the model's limits."""
    rng = np.random.default_rng(0)
    shape = (options["rows"], options["length"])
    rows = {
        name: rng.integers(0, limit, shape[:1] if name == "labels" else shape, dtype=np.int64)
        for name, limit in options["limits"].items()
    }
    return rows | {"attention_mask": np.ones(shape, np.int64)}


def window_of(rows: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Return the rows as micro-batches."""
    count = len(rows["labels"])
    return [
        {name: array[at : at + size] for name, array in rows.items()}
        for at in range(0, count, size)
    ]
