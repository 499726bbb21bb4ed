"""Progress of a sweep: progress bars in a terminal, a line per cell elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from crosscast.messages.terminal import escaped, plain_stream
from crosscast.messages.time_left import TimeLeft, duration
from crosscast_parity.sweep.cell import TRACE
from crosscast_parity.sweep.driver import Watch
from crosscast_parity.sweep.prepare import Cell
from crosscast_parity.sweep.spec import CellResult

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_SECONDS = 1.0


class WindowCounter:
    """Counts the windows that this run's cells have to train and have trained."""

    def __init__(self, cells: Sequence[Cell], finished: Sequence[Cell]) -> None:
        left = {cell.folder for cell in cells} - {cell.folder for cell in finished}
        self._cells = {cell.folder: cell for cell in cells if cell.folder in left}
        self._first = {folder: trained(folder) for folder in self._cells}
        self._now = dict(self._first)
        self._time_left = TimeLeft()
        self._ended: set[Path] = set()

    @property
    def total(self) -> int:
        """Windows that this run has to train."""
        return sum(cell.windows - self._first[f] for f, cell in self._cells.items())

    def look(self) -> int:
        """Return how many of them are trained."""
        for folder in self._cells.keys() - self._ended:
            self._now[folder] = max(self._now[folder], trained(folder))
        return sum(self._now[folder] - self._first[folder] for folder in self._cells)

    def end(self, cell: Cell) -> None:
        """Count a cell that will train no more as done."""
        if cell.folder in self._cells:
            self._now[cell.folder] = cell.windows
            self._ended.add(cell.folder)

    def seconds_left(self) -> float | None:
        """Return how long the rest takes at the speed so far; None before there is any."""
        return self._time_left.seconds(self.look(), self.total)


def trained(folder: Path) -> int:
    """Return the number of windows in a cell's trace."""
    try:
        with (folder / "output" / TRACE).open("rb") as stream:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(1 << 16), b""))
    except OSError:
        return 0


class Lines(Watch):
    """One line for every cell that ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._done = self._all = 0
        self._counter = WindowCounter((), ())

    def begin(self, cells: Sequence[Cell], finished: Sequence[Cell]) -> None:
        """Say how much there is to do."""
        self._all, self._done = len(cells), len(finished)
        self._counter = WindowCounter(cells, finished)
        self._say(f"{_cells(len(cells))}, {len(finished)} done before")

    def tick(self) -> None:
        """Say nothing."""

    def ended(self, cell: Cell, result: CellResult, *, again: bool) -> None:
        """Say how a cell ended and what is left."""
        if again:
            self._say(f"{cell.point}: {in_words(result)}; it resumes from its last checkpoint")
            return
        self._done += 1
        self._counter.end(cell)
        seconds = self._counter.seconds_left()
        left = f", {duration(seconds)} left" if seconds and self._done < self._all else ""
        self._say(f"{self._done}/{self._all} {cell.point}: {in_words(result)}{left}")

    def close(self) -> None:
        """Nothing is to be closed."""

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class Bars(Watch):
    """A bar of all windows with the time that is left, above it the cells that ended."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = Console(file=plain_stream(sys.stderr), highlight=False, markup=False)
        self._bar: Progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} windows"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
        )
        self._task: TaskID | None = None
        self._lines = Lines(_Above(self._console))  # type: ignore[arg-type]
        self._counter = WindowCounter((), ())
        self._looked = 0.0

    def begin(self, cells: Sequence[Cell], finished: Sequence[Cell]) -> None:
        """Draw the bar."""
        self._counter = WindowCounter(cells, finished)
        self._lines.begin(cells, finished)
        self._task = self._bar.add_task("sweep", total=self._counter.total, left="")
        self._bar.start()

    def tick(self) -> None:
        """Move the bar, at most once a second."""
        if self._task is None or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        seconds = self._counter.seconds_left()
        left = "" if seconds is None else f"{duration(seconds)} left"
        self._bar.update(self._task, completed=self._counter.look(), left=left)

    def ended(self, cell: Cell, result: CellResult, *, again: bool) -> None:
        """Write a line above the bar."""
        if not again:
            self._counter.end(cell)
        self._lines.ended(cell, result, again=again)
        self._looked = 0.0
        self.tick()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()


class _Above:
    """A stream whose text goes above the bars of a console."""

    def __init__(self, console: object) -> None:
        self._console = console

    def write(self, text: str) -> None:
        if text.strip():
            self._console.print(escaped(text.rstrip("\n")), soft_wrap=True)  # type: ignore[attr-defined]

    def flush(self) -> None:
        """A console does not wait."""


def make_watch() -> Watch:
    """Return bars if stderr is a terminal, else lines."""
    return Bars() if sys.stderr.isatty() else Lines(sys.stderr)


def in_words(result: CellResult) -> str:
    """Return how a cell ended."""
    if result.kind != "finished":
        return f"{result.kind}: {result.message}" if result.message else result.kind
    again = f" in attempt {result.attempts}" if result.attempts > 1 else ""
    loss = "not finite" if result.eval_loss is None else f"{result.eval_loss:.4f}"
    return f"finished{again} after {result.seconds:.0f} s, eval loss {loss}"


def _cells(count: int) -> str:
    return f"{count} {'cell' if count == 1 else 'cells'}"
