"""Progress on a terminal while many files are read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import TaskID

_MANY = 20
"""Minimum number of parts for a display."""


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Return a function that shows how many parts of all are done, if there are many."""
    if not sys.stderr.isatty():
        yield lambda done, all: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # Without a refresh thread, because processes are forked meanwhile.
    shown = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
    tasks: list[TaskID] = []

    def progress(done: int, all: int) -> None:
        if all < _MANY:
            return
        if not tasks:
            shown.start()
            tasks.append(shown.add_task(what, total=all))
        shown.update(tasks[0], completed=done, total=all, refresh=True)

    try:
        yield progress
    finally:
        if tasks:
            shown.stop()
