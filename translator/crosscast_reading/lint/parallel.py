"""Lint many groups of sources, in parallel processes if worthwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.result import Result, of_diagnostic
from crosscast_reading.sources.workers import spread

Group = tuple[Source, ...]
ENOUGH = 400_000
"""Minimum size of sources, in characters, for a second process."""
_CHUNK = 60_000
"""Chunk size for a process, in characters."""


def lint_groups(
    groups: Sequence[Group],
    options: Options,
    jobs: int,
    done: Callable[[int], None] = lambda number: None,
) -> Iterator[Result]:
    """Yield the results of groups in arbitrary order.

    Args:
        groups: groups of sources.
        options: the rules to apply.
        jobs: maximum number of processes; 0 chooses automatically.
        done: called with the number of newly finished groups.
    """
    size = sum(len(source.text) for group in groups for source in group)
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
    """Yield chunks of groups with about equal work, largest first."""
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
    return sum(len(source.text) for source in group)


def _spread(
    chunks: Sequence[tuple[Group, ...]], options: Options, jobs: int
) -> Iterator[tuple[tuple[Group, ...], list[Result] | None]]:
    """Yield chunks with their results; None if the process died."""
    with spread(_work, [(chunk, options) for chunk in chunks], jobs) as futures:
        chunk_of = dict(zip(futures, chunks, strict=True))
        for future in as_completed(futures):
            try:
                yield chunk_of[future], future.result()
            except BrokenProcessPool:
                yield chunk_of[future], None


def _work(chunk: tuple[Group, ...], options: Options) -> list[Result]:
    return [result for group in chunk for result in lint_sources(group, options)]


def _died(group: Group) -> Result:
    return of_diagnostic(
        Diagnostic(
            code="CC956",
            message=f"{group[0].name}: its worker process died",
            hint="it may have run out of memory; please report this with the file",
        )
    )
