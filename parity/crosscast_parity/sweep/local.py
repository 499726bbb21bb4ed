"""Cells as processes of this machine, a few at a time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator
from pathlib import Path

from crosscast_parity.sweep.executor import Ended, Executor, Resources

POLL_SECONDS = 0.1
GRACE_SECONDS = 8.0
"""More than a cell gives its training to end."""


class LocalExecutor:
    """Runs cells side by side, each in a process that runs its training in another.

    Args:
        jobs: cells at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._waiting: deque[Path] = deque()
        self._running: dict[Path, subprocess.Popen[bytes]] = {}

    def submit(self, cell: Path) -> None:
        """Take a cell."""
        self._waiting.append(cell)

    def collect(self) -> Generator[Ended | None]:
        """Run the cells and say which have ended."""
        try:
            while self._waiting or self._running:
                while self._waiting and len(self._running) < self._jobs:
                    cell = self._waiting.popleft()
                    self._running[cell] = _start(cell)
                for cell, process in list(self._running.items()):
                    if process.poll() is not None:
                        del self._running[cell]
                        yield Ended(cell, _problem(process.returncode))
                yield None
                if self._running:
                    time.sleep(POLL_SECONDS)
        finally:
            self._end()

    def _end(self) -> None:
        """End what runs: ask all, wait a little, insist."""
        self._waiting.clear()
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.wait()
        self._running.clear()


def _start(cell: Path) -> subprocess.Popen[bytes]:
    # In a session of its own: Ctrl-C is for the sweep, which then ends its cells in order.
    with (cell / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "crosscast_parity.sweep.cell", str(cell)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _problem(code: int) -> str:
    if code >= 0:
        return "" if code in (0, 1) else f"the cell's process ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"the cell's process was ended by {signal.Signals(-code).name}"
    return f"the cell's process was ended by signal {-code}"


def make(resources: Resources) -> Executor:
    """Return the executor; by default as many cells at a time as fit on the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return LocalExecutor(resources.jobs or max(1, (cores or 1) // resources.cpus))
