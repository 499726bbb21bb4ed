"""Read rows ahead, in processes of Paddle's DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import paddle
from paddle.io import BatchSampler, DataLoader

from .sources import Batch, Rows
from .workers import Reader, read, start_worker


class Numbers(BatchSampler):
    """The rows of each micro-batch, which are read by one call."""

    def __init__(self, numbers: Iterable[np.ndarray]) -> None:
        self.numbers = numbers

    def __iter__(self) -> Iterator[list[np.ndarray]]:
        return ([indices] for indices in self.numbers)


def first(items: list[Batch]) -> Batch:
    """Return the only item of a list."""
    return items[0]


def load(rows: Rows, numbers: Iterable[np.ndarray], workers: int) -> Iterator[Batch]:
    """Yield the rows with these numbers, one micro-batch after the other."""
    if not workers:
        yield from map(rows.rows, numbers)
        return
    loader = DataLoader(
        Reader(rows),
        places=paddle.CPUPlace(),
        batch_sampler=Numbers(numbers),
        collate_fn=first,
        num_workers=workers,
        worker_init_fn=start_worker,
    )
    for batch in loader:
        yield read({name: np.asarray(tensor) for name, tensor in batch.items()})
