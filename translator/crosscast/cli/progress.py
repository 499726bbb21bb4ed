"""Progress on a terminal, on stderr, for work that takes more than a moment; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crosscast.messages.terminal import escaped, plain_stream
from crosscast.messages.time_left import Clock, TimeLeft

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds after which progress is shown."""
_REFRESH = 0.1


@contextmanager
def progress_bar(what: str, clock: Clock = time.monotonic) -> Iterator[Callable[[int, int], None]]:
    """Return a function that shows how many parts of all are done, and the time that is left."""
    if not sys.stderr.isatty():
        yield lambda done, all: None
        return
    bar = _Bar(what, clock)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A bar that appears when the work has taken a while."""

    def __init__(self, what: str, clock: Clock) -> None:
        self._what = what
        self._clock = clock
        self._time_left = TimeLeft(clock, prepares=True)
        self._refreshed = clock()
        self._shown: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, all: int) -> None:
        left = self._time_left.words(done, all)
        if self._time_left.elapsed < PATIENCE or self._clock() - self._refreshed < _REFRESH:
            return
        self._refreshed = self._clock()
        if self._shown is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                TextColumn("{task.fields[left]}"),
            )
            console = Console(file=plain_stream(sys.stderr))
            # Without a refresh thread, because processes are forked meanwhile.
            self._shown = Progress(*columns, console=console, transient=True, auto_refresh=False)
            self._task = self._shown.add_task(self._what, total=all, completed=done, left=left)
            self._shown.start()
        assert self._task is not None
        self._shown.update(self._task, completed=done, total=all, left=left, refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._shown is not None:
            self._shown.stop()


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show what is done and for how long, where the steps that are left are not known.

    Args:
        what: what is done; nothing is shown if it is empty.

    Returns:
        A function that says what is done now.
    """
    if not what or not sys.stderr.isatty():
        yield lambda now: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(
        *columns, console=Console(file=plain_stream(sys.stderr)), transient=True
    ) as shown:
        task = shown.add_task(escaped(what), total=None)
        yield lambda now: shown.update(task, description=escaped(now))
