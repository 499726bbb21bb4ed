"""Spread calls over processes, and leave none behind."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Result = TypeVar("Result")


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
        pool = ProcessPoolExecutor(min(jobs, len(arguments)), context, _quiet)
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


def _quiet() -> None:
    """Leave the interrupt to the process that the user sees."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
