"""Progress of the runs: a progress bar in a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as Bar,
)

from crosscast.messages.terminal import escaped, plain_stream
from crosscast.messages.time_left import TimeLeft
from crosscast_parity.processes.work_done import OnProgress, Progress
from crosscast_parity.report.terminal import plain


@contextmanager
def progress_on(stream: TextIO) -> Iterator[OnProgress]:
    """Return a callback that prints the progress of a comparison."""
    console = Console(file=plain_stream(stream))
    time_left = TimeLeft()
    if not console.is_terminal:
        yield lambda progress: _print_line(stream, progress, time_left)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        yield _Display(bar, bar.add_task("starting", total=None, left=""), time_left)


class _Display:
    def __init__(self, bar: Bar, task: TaskID, time_left: TimeLeft) -> None:
        self._bar = bar
        self._time_left = time_left
        self._task = task
        self._running: list[str] = []

    def __call__(self, progress: Progress) -> None:
        title = progress.title
        if progress.kind == "finding":
            self._bar.console.print(plain(title), markup=False, highlight=False, soft_wrap=True)
            return
        if progress.kind == "started":
            self._running.append(title)
        elif title in self._running:
            self._running.remove(title)
        outcome = progress.outcome
        if outcome and not outcome.complete:
            line = escaped(f"{title}: {outcome.kind}: {outcome.message}")
            self._bar.console.print(line, markup=False)
        self._bar.update(
            self._task,
            description=escaped(", ".join(self._running[:2])) or "starting a process",
            completed=progress.done,
            total=progress.total,
            left=self._time_left.words(progress.done, progress.total),
        )


def _print_line(stream: TextIO, progress: Progress, time_left: TimeLeft) -> None:
    outcome = progress.outcome
    if progress.kind == "finding":
        print(plain(progress.title), file=stream, flush=True)
    elif outcome is not None:
        share = progress.done / progress.total if progress.total else 1.0
        left = time_left.words(progress.done, progress.total)
        words = "" if outcome.complete else f": {outcome.message}"
        print(
            f"{progress.title}: {outcome.kind} after {outcome.seconds:.1f} s{words}"
            f" ({', '.join(filter(None, (f'{share:.0%} done', left)))})",
            file=stream,
            flush=True,
        )
