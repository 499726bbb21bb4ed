"""Lift many files at once: find them, group them, and read the groups in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.source import STDIN, Source, read_source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.related_files import missing_programs, unread_files, with_nearby
from crosscast_reading.lift.report import Report, lost, report
from crosscast_reading.sources.failures import guarded
from crosscast_reading.sources.files import MAX_BYTES, Text, find_files, path_of, read_text
from crosscast_reading.sources.grouping import group
from crosscast_reading.sources.workers import spread

Progress = Callable[[int, int], None]
"""Called with the number of groups done and of all."""
ENOUGH = 400_000
"""Characters of sources from which a second process is worth its start."""


def read_sources(paths: Sequence[str]) -> tuple[list[Source], list[Diagnostic]]:
    """Return the texts that paths name, and what could not be read; `-` is stdin.

    With a file come those beside it that it starts, imports or names.
    """
    sources: list[Source] = []
    files, problems = find_files([path for path in paths if path != STDIN])
    if STDIN in paths:
        sources.append(read_source(STDIN, max_bytes=MAX_BYTES))
    named = {str(path_of(os.fspath(path))) for path in paths}
    for path in files:
        match read_text(path, named=str(path) in named):
            case Text(source=source):
                sources.append(source)
            case Diagnostic() as problem:
                problems.append(problem)
    nearby = with_nearby(sources, [name for name in named if not Path(name).is_dir()])
    return nearby.sources, [*problems, *missing_programs(nearby.sources), *unread_files(nearby)]


def groups_of(sources: Sequence[Source], named: Sequence[str]) -> list[tuple[Source, ...]]:
    """Return the sources that belong together; a file that the user named is never left out."""
    groups = group(sources)
    taken = {source.name for members in groups for source in members}
    left = [source for source in sources if source.name not in taken]
    names = {str(path_of(name)) for name in named}
    return [
        *groups,
        *((source,) for source in left if source.name in names or source.name.startswith("<")),
    ]


def lift_sources(sources: Sequence[Source], versions: Mapping[str, str]) -> Report:
    """Return the report on sources that belong together; a failure is its only diagnostic."""
    failures: list[Diagnostic] = []
    activity = f"reading {sources[0].name}"
    result = guarded(failures, activity, sources, lambda: report(lift(analyse(sources, versions))))
    return result or lost(sources, failures[0])


def lift_groups(
    groups: Sequence[tuple[Source, ...]],
    versions: Mapping[str, str],
    *,
    jobs: int = 0,
    progress: Progress = lambda done, total: None,
) -> list[Report]:
    """Lift groups, in their order, in as many processes as are worth it.

    Args:
        groups: sources that belong together.
        versions: package to version.
        jobs: most processes; 0 chooses.
        progress: told after every group.
    """
    size = sum(len(source.text) for members in groups for source in members)
    count = jobs or min(os.cpu_count() or 1, 1 + size // ENOUGH)
    reports: list[Report] = []
    if count < 2 or len(groups) < 2:
        for members in groups:
            reports.append(lift_sources(members, versions))
            progress(len(reports), len(groups))
        return reports
    for lifted in _spread(groups, versions, count):
        reports.append(lifted)
        progress(len(reports), len(groups))
    return reports


def _spread(
    groups: Sequence[tuple[Source, ...]], versions: Mapping[str, str], jobs: int
) -> Iterator[Report]:
    """Yield the reports of groups in their order; a process that dies loses only its group."""
    with spread(lift_sources, [(members, versions) for members in groups], jobs) as futures:
        for members, future in zip(groups, futures, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield _lift_in_new_process(members, versions)


def _lift_in_new_process(members: tuple[Source, ...], versions: Mapping[str, str]) -> Report:
    """Lift a group in a process of its own, because one of its neighbours ended the last one."""
    with spread(lift_sources, [(members, versions)], 1) as (future,):
        try:
            return future.result()
        except BrokenProcessPool:
            message = f"{members[0].name}: the process that read it died"
            hint = "it may have run out of memory; please report this with the file"
            return lost(members, Diagnostic(code="CC956", message=message, hint=hint))


def only_run(paths: Sequence[str], versions: Mapping[str, str]) -> tuple[Lifted, list[Diagnostic]]:
    """Return the only run that paths name, and what was noticed about other files.

    Raises:
        DiagnosticError: CC919 if there are several runs or none.
    """
    sources, problems = read_sources(paths)
    lifted_groups = [lift(analyse(members, versions)) for members in groups_of(sources, paths)]
    trains = [lifted for lifted in lifted_groups if lifted.text] or lifted_groups
    if len(trains) != 1:
        message = f"--run needs one run, but {len(trains)} were found"
        hint = "name the files of one run"
        raise DiagnosticError(*problems, Diagnostic(code="CC919", message=message, hint=hint))
    others = [d for lifted in lifted_groups if lifted is not trains[0] for d in lifted.diagnostics]
    return trains[0], [*problems, *others]
