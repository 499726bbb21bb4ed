"""The order of rows, and how it is cut into windows of micro-batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .settings import Settings, Stop


@lru_cache(maxsize=2)
def epoch_order(n_rows: int, epoch: int, seed: int, shuffle: bool = True) -> np.ndarray:
    """Order of the training rows in one epoch, the same on every framework."""
    if not shuffle:
        return np.arange(n_rows)
    return np.random.default_rng([seed, epoch]).permutation(n_rows)


def row_numbers(
    n_rows: int, settings: Settings, start: int = 0, rank: int = 0
) -> Iterator[list[np.ndarray]]:
    """Yield windows of micro-batches, each as its rows, for ever, from `start` on.

    Of several data-parallel processes, the one with number `rank` gets its share.
    """
    chosen_rows = carried_rows if settings.tail == "carry" else window_rows
    for window in itertools.count(start):
        chosen = chosen_rows(n_rows, window, settings)[rank :: settings.processes]
        cuts = range(settings.micro_batch_size, len(chosen), settings.micro_batch_size)
        yield np.split(chosen, cuts)


def evaluated_rows(n_rows: int, settings: Settings) -> Iterator[np.ndarray]:
    """Yield the rows of the micro-batches of an evaluation."""
    size = settings.micro_batch_size
    for i in range(0, n_rows, size):
        yield np.arange(i, min(i + size, n_rows))


def window_rows(n_rows: int, window: int, settings: Settings) -> np.ndarray:
    """Numbers of the rows of a window that ends with its epoch at the latest."""
    size, processes = settings.global_batch_size, settings.processes
    per_epoch, rest = divmod(n_rows, size)
    if settings.tail != "drop":
        # A short last window counts, unless some process would get no row of it.
        per_epoch += rest >= processes
    if not per_epoch:
        few = "do not fill one window" if settings.tail == "drop" else "are too few"
        raise Stop("failed", 2, f"{n_rows} rows {few}")
    epoch, index = divmod(window, per_epoch)
    order = epoch_order(n_rows, epoch, settings.seed, settings.shuffle)
    return order[index * size : (index + 1) * size]


def carried_rows(n_rows: int, window: int, settings: Settings) -> np.ndarray:
    """Numbers of the rows of a window that goes on with the next epoch's rows."""
    size, seed, shuffle = settings.global_batch_size, settings.seed, settings.shuffle
    epoch, first = divmod(window * size, n_rows)
    chosen = epoch_order(n_rows, epoch, seed, shuffle)[first:]
    while len(chosen) < size:
        epoch += 1
        chosen = np.concatenate([chosen, epoch_order(n_rows, epoch, seed, shuffle)])
    return chosen[:size]
