"""A lint run, from paths to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.lint.baseline import Baseline
from crosscast_reading.lint.engine import distinct
from crosscast_reading.lint.fix import Fixed, repair
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.parallel import lint_groups
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.files import Text, read_all
from crosscast_reading.sources.grouping import group

Progress = Callable[[int, int], None]
"""Called with the number of finished groups and the total."""


@dataclass(slots=True, kw_only=True)
class Request:
    """What to look at, and how."""

    paths: Sequence[str]
    options: Options = field(default_factory=Options)
    exclude: Sequence[str] = ()
    stdin_name: str = "<stdin>"
    jobs: int = 0
    fix: bool = False
    baseline: Baseline | None = None
    progress: Progress = lambda done, all: None


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of it."""

    results: list[Result]
    problems: list[Diagnostic]
    files: dict[str, Text]
    """Everything that was read, by name."""
    looked_at: int
    """Files to which a rule was applied."""
    fixed: Fixed | None = None
    known: int = 0
    """Number of findings in the baseline."""
    gone: int = 0
    """Findings of the baseline that are no longer there."""


def run(request: Request) -> Report:
    """Check files without writing."""
    files, problems = read_all(
        request.paths, request.exclude, request.options.root, request.stdin_name
    )
    sources = [file.source for file in files.values()]
    groups = group(sources)
    report = Report(
        results=[],
        problems=problems,
        files=files,
        looked_at=len({member.name for members in groups for member in members}),
    )

    def look(texts: Sequence[Source]) -> list[Result]:
        results = _look(groups if texts is sources else group(texts), request)
        if request.baseline is None:
            return results
        filtered = request.baseline.apply(results, files)
        report.known, report.gone = filtered.known, filtered.gone
        return filtered.results

    if not request.fix:
        report.results = look(sources)
        return report
    report.fixed = repair(sources, look)
    report.results = report.fixed.results
    report.problems = [*problems, *report.fixed.problems]
    return report


def _look(groups: list[tuple[Source, ...]], request: Request) -> list[Result]:
    finished = 0

    def done(more: int) -> None:
        nonlocal finished
        finished += more
        request.progress(finished, len(groups))

    return distinct(lint_groups(groups, request.options, request.jobs, done))
