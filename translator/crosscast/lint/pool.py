"""Many groups of sources at once, in processes where that pays."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from crosscast.diagnostics import Diagnostic
from crosscast.lint.engine import lint_sources
from crosscast.lint.options import Options
from crosscast.lint.result import Result, of_diagnostic
from crosscast.source import Source

Group = tuple[Source, ...]
ENOUGH = 400_000
"""Characters of sources from which a second process is worth its start."""
_CHUNK = 60_000
"""Characters that are handed to a process at once."""


def lint_groups(
    groups: Sequence[Group],
    options: Options,
    jobs: int,
    done: Callable[[int], None] = lambda number: None,
) -> Iterator[Result]:
    """Yield the results of groups, in no order.

    Args:
        groups: sources that belong together.
        options: which rules to ask.
        jobs: most processes; 0 chooses.
        done: is told how many more groups are finished.
    """
    size = sum(len(one.text) for group in groups for one in group)
    wanted = jobs or min(os.cpu_count() or 1, 1 + size // ENOUGH)
    if wanted < 2 or len(groups) < 2:
        for group in groups:
            yield from lint_sources(group, options)
            done(1)
        return
    lost: list[Group] = []
    for chunk, results in _spread(list(_chunks(groups)), options, wanted):
        if results is None:
            lost += chunk
            continue
        yield from results
        done(len(chunk))
    for group in lost:  # one of them ends its process: each gets its own
        for _, results in _spread([(group,)], options, 1):
            yield from results if results is not None else [_died(group)]
        done(1)


def _chunks(groups: Sequence[Group]) -> Iterator[tuple[Group, ...]]:
    """Yield groups of about the same work, the largest first."""
    chunk: list[Group] = []
    size = 0
    for group in sorted(groups, key=_size, reverse=True):
        chunk.append(group)
        size += _size(group)
        if size >= _CHUNK:
            yield tuple(chunk)
            chunk, size = [], 0
    if chunk:
        yield tuple(chunk)


def _size(group: Group) -> int:
    return sum(len(one.text) for one in group)


def _spread(
    chunks: Sequence[tuple[Group, ...]], options: Options, jobs: int
) -> Iterator[tuple[tuple[Group, ...], list[Result] | None]]:
    """Yield chunks with their results; None for those whose process died."""
    # A copy of this process needs no start-up; with threads about it would not be safe.
    copy = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if copy else "spawn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = ProcessPoolExecutor(min(jobs, len(chunks)), context, _quiet)
        try:
            futures: dict[Future[list[Result]], tuple[Group, ...]] = {}
            for chunk in chunks:
                futures[pool.submit(_work, chunk, options)] = chunk
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except BrokenProcessPool:
                    yield futures[future], None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _quiet() -> None:
    """Leave the interrupt to the process that the user sees."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(chunk: tuple[Group, ...], options: Options) -> list[Result]:
    return [result for group in chunk for result in lint_sources(group, options)]


def _died(group: Group) -> Result:
    return of_diagnostic(
        Diagnostic(
            code="CC956",
            message=f"{group[0].name}: the process that looked at it died",
            hint="it may have run out of memory; please report this with the file",
        )
    )
