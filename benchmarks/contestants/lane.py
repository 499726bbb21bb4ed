"""A training loop in a thread of its own, let through a number of windows at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Closed(BaseException):
    """Ends a contestant's loop from within `Lane.next_window`."""


class Lane:
    """Holds a loop between two windows, so that several loops can take turns in one process.

    All contestants run in threads, the hand-written ones too: whatever a thread costs, memory
    arenas of its own for instance, is the same for all.
    """

    def __init__(self, loop: Callable[[Lane], None]) -> None:
        self.losses: Callable[[], list[float]] = list
        """Returns the mean loss of every window so far."""
        self.weights: Callable[[], dict[str, Any]] = dict
        """Returns copies of the weights by canonical name."""
        self.computes_in: Callable[[], str] = str
        """Returns the type in which the model's dense layers computed at first."""
        self._loop = loop
        self._budget = 0
        self._go = threading.Semaphore(0)
        self._idle = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._main, daemon=True)

    def describe(
        self,
        losses: Callable[[], list[float]],
        weights: Callable[[], dict[str, Any]],
        computes_in: Callable[[], str],
    ) -> None:
        """Tell how to look at the training; for the loop, before its first window."""
        self.losses, self.weights, self.computes_in = losses, weights, computes_in

    def next_window(self) -> None:
        """Wait until one more window may be trained; for the loop."""
        if self._budget == 0:
            self._idle.release()
            self._go.acquire()
            if self._closed:
                raise Closed
        self._budget -= 1

    def start(self) -> None:
        """Run the loop up to its first window."""
        self._thread.start()
        self._wait()

    def run(self, windows: int) -> None:
        """Let the loop train so many windows, and wait for it."""
        self._budget = windows
        self._go.release()
        self._wait()

    def close(self) -> None:
        """End the loop."""
        self._closed = True
        self._go.release()
        self._thread.join()

    def _wait(self) -> None:
        self._idle.acquire()
        if self._error is not None:
            raise self._error

    def _main(self) -> None:
        try:
            self._loop(self)
            raise RuntimeError("the loop ended by itself")
        except Closed:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._idle.release()
