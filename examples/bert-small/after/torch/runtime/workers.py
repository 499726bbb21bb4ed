"""What the processes of a loader do, and what they tell the one that trains."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from types import TracebackType

import numpy as np

from .settings import Stop
from .sources import Batch, Rows

FAILURE = "failure of a worker"  # in place of the name of an array


def start_worker(number: int) -> None:
    """Prepare a process of a loader; it ends soon after the one that trains.

    `number`: of this process among those of the loader.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that trains
    sys.excepthook = print_uncaught
    started, trains = os.getppid(), multiprocessing.parent_process()

    def watch() -> None:
        while os.getppid() == started and trains is not None and trains.is_alive():
            time.sleep(1.0)
        os._exit(1)  # the loader would wait for ever to hand over what it has read

    threading.Thread(target=watch, daemon=True).start()


def print_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an exception, unless it says that the other process has ended."""
    if not issubclass(kind, (EOFError, ConnectionError)):
        sys.__excepthook__(kind, error, trace)


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
