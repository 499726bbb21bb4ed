"""Distribute calls over worker processes and clean them up."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Result = TypeVar("Result")
PARENT_POLL_SECONDS = 1.0


@contextmanager
def spread(
    work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[list[Future[Result]]]:
    """Give the futures of calls, in their order; at the end, those not yet begun are dropped.

    A future raises BrokenProcessPool where the process died.

    Args:
        work: a function that another process can import.
        arguments: what each call gets.
        jobs: most processes.
    """
    # A copy of this process needs no start-up; with threads about it would not be safe.
    copy = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if copy else "spawn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = ProcessPoolExecutor(min(jobs, len(arguments)), context, _begin, (os.getpid(),))
        try:
            with _uninterrupted():
                futures = [pool.submit(work, *each) for each in arguments]
            yield futures
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait.

    An executor that is interrupted between the start of its first process and that of the thread
    that looks after them can no longer end them, and Python waits for them for ever.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Leave the interrupt to the process that the user sees, and do not outlive that.

    Copies hold both ends of the pipe that work comes from, so its end would never be told to them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # what the command line makes of it is copied

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
