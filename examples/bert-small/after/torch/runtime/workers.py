"""What the processes of a loader do, and what they tell the one that trains."""

from __future__ import annotations

import numpy as np

from .settings import Stop
from .sources import Batch, Rows

FAILURE = "failure of a worker"  # in place of the name of an array


class Reader:
    """Reads rows in a process of a loader, from which no exception comes back whole."""

    def __init__(self, rows: Rows) -> None:
        self.data = rows

    def __getitem__(self, indices: np.ndarray) -> Batch:
        try:
            return self.data.rows(indices)
        except Stop as stop:
            return {FAILURE: np.array(bytearray(str(stop), "utf-8"))}


def read(batch: Batch) -> Batch:
    """Return what a `Reader` has read, or end the run."""
    if FAILURE in batch:
        raise Stop("failed", 2, batch[FAILURE].tobytes().decode())
    return batch
