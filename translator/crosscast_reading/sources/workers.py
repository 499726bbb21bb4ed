"""Distribute calls over worker processes and clean them up."""

from __future__ import annotations

import gc
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
    """Yield the futures of calls in order; pending ones are cancelled at the end.

    A future raises BrokenProcessPool if its process died.

    Args:
        work: a function that another process can import.
        arguments: arguments of each call.
        jobs: maximum number of processes.
    """
    # A fork needs no start-up time, but is not safe if there are threads.
    copy = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if copy else "spawn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parent_state = (os.getpid(), gc.get_threshold())
        pool = ProcessPoolExecutor(min(jobs, len(arguments)), context, _begin, parent_state)
        try:
            with _uninterrupted():
                futures = [pool.submit(work, *each) for each in arguments]
            yield futures
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay interrupts.

    If an executor is interrupted between the start of its first process and of its management
    thread, it cannot end the processes, and Python waits for them forever.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int, thresholds: tuple[int, int, int]) -> None:
    """Ignore interrupts, which the parent handles, collect as it does, and exit with it.

    Forks hold both ends of the work pipe and would not notice that it is closed.
    """
    gc.set_threshold(*thresholds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the handler of the command line is inherited

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
