"""Read rows ahead, in processes of PyTorch's DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader

from .sources import Batch, Rows
from .workers import Reader, read, start_worker


def load(rows: Rows, numbers: Iterable[np.ndarray], workers: int) -> Iterator[Batch]:
    """Yield the rows with these numbers, one micro-batch after the other."""
    if not workers:
        yield from map(rows.rows, numbers)
        return
    loader = DataLoader(
        Reader(rows),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        worker_init_fn=start_worker,
        generator=torch.Generator(),  # does not draw from the one of dropout
    )
    for batch in loader:
        yield read({name: tensor.numpy() for name, tensor in batch.items()})
