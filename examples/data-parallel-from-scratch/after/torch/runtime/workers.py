"""What the processes of a loader do, and what they tell the one that trains."""

from __future__ import annotations

import traceback

import numpy as np

from .settings import Stop
from .sources import Batch, Rows

FAILURE = "failure"  # name of the array that holds a message


class Reader:
    """Reads rows in a process of a loader, from which no exception comes back whole."""

    def __init__(self, rows: Rows) -> None:
        self.data = rows

    def __getitem__(self, indices: np.ndarray) -> Batch:
        try:
            return self.data.rows(indices)
        except Stop as stop:
            return {FAILURE: np.array(bytearray(str(stop), "utf-8"))}
        except Exception:
            return {FAILURE: np.array(bytearray(traceback.format_exc(), "utf-8"))}


def read(batch: Batch) -> Batch:
    """Return what a `Reader` has read, or end the run."""
    if FAILURE in batch:
        message = batch[FAILURE].tobytes().decode()
        raise Stop("failed", 2, message)
    return batch


def lost_worker(error: Exception) -> Stop:
    """Return the end of a run whose loader has lost a process."""
    return Stop("failed", 1, f"a worker that reads rows has ended: {error}")
