"""How long work still takes, as estimated from its finished part."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


class TimeLeft:
    """Estimates the time that is left from the share of the work that is done.

    With `prepares`, the work is preceded by some that is not counted, such as reading all files:
    the estimate begins with the first part that is done.
    """

    def __init__(self, clock: Clock = time.monotonic, *, prepares: bool = False) -> None:
        self._clock = clock
        self._begin = clock()
        self._first: tuple[float, float] | None = None if prepares else (self._begin, 0.0)
        """Time and amount of work from which the speed is measured."""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begin

    def seconds(self, done: float, total: float) -> float | None:
        """Return the seconds that are left; None before anything is done."""
        if self._first is None:
            self._first = self._clock(), done
        begin, before = self._first
        if done <= before or total <= 0:
            return None
        return (self._clock() - begin) / (done - before) * max(0.0, total - done)

    def words(self, done: float, total: float) -> str:
        """Return the time that is left in words; empty before anything is done and at the end."""
        seconds = self.seconds(done, total)
        return f"about {duration(seconds)} left" if seconds else ""


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
