"""Rows for windows of emitted scripts whose memory is measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from crosscast_parity.inside.emitted import offered

Arrays = dict[str, np.ndarray[Any, Any]]


def rows_of(options: dict[str, Any]) -> Arrays:
    """Return as many rows as a window has: those of a file, over and over, or made-up ids."""
    if "file" in options:
        with np.load(options["file"], allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
        numbers = np.arange(options["rows"]) % len(next(iter(columns.values())))
        return {name: array[numbers] for name, array in columns.items()}
    rng = np.random.default_rng(0)
    shape = (options["rows"], options["length"])
    rows = {
        name: rng.integers(0, limit, shape[:1] if name == "labels" else shape, dtype=np.int64)
        for name, limit in options["limits"].items()
    }
    return rows | {"attention_mask": np.ones(shape, np.int64)}


def window_of(rows: Arrays, size: int) -> list[Arrays]:
    """Return the rows as micro-batches."""
    count = len(next(iter(rows.values())))
    return [
        {name: array[at : at + size] for name, array in rows.items()}
        for at in range(0, count, size)
    ]


def known_sizes(
    script: Any, state: Any, weights: Iterable[Any], trained: Iterable[Any]
) -> dict[str, int]:
    """Return the memory that a script holds between windows.

    Args:
        script: The emitted script.
        state: Its state, after a window.
        weights: All tensors of the model, once each.
        trained: Those that are trained.

    Returns:
        Bytes of `parameters`, `optimizer` and averages (`ema`), and the number of numbers
        `trained`.
    """
    numbers = sum(tensor.numpy().size for tensor in trained)
    averages = offered(script, "ema_arrays") is not None
    return {
        "parameters": sum(tensor.numpy().nbytes for tensor in weights),
        "trained": numbers,
        "optimizer": sum(a.nbytes for a in offered(script, "optimizer_arrays")(state).values()),
        "ema": 4 * numbers if averages else 0,
    }
