"""The command `crosscast lift`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.error_handling import positive
from crosscast.messages.console import (
    EXIT_FINDINGS,
    EXIT_OK,
    EXIT_USAGE,
    exit_code,
    print_diagnostics,
    print_json,
    print_table,
    print_text,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.lift.report import Report
    from crosscast.messages.source import Source

_MANY = 20
"""Minimum number of groups of sources for a progress display."""

VersionOption = Annotated[
    list[str] | None,
    typer.Option("--version", metavar="NAME=V", help="Version of a package, such as torch=2.1."),
]


def lift(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Scripts, configurations or folders, or - for stdin."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File for the recipe, or - for stdout."
        ),
    ] = "",
    version: VersionOption = None,
    jobs: Annotated[
        int, typer.Option(help="Maximum number of processes; 0 chooses automatically.", min=0)
    ] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    run: Annotated[
        str,
        typer.Option(
            metavar="'SCRIPT ARG...'",
            help="Execute this script and hold the recipe against what it does. Your code is never "
            "executed without this option.",
        ),
    ] = "",
    correct: Annotated[
        bool, typer.Option("--correct", help="With --run: write the values that the run shows.")
    ] = False,
    python: Annotated[
        str,
        typer.Option(metavar="PATH", help="With --run: the interpreter; default: the current one."),
    ] = "",
    device: Annotated[
        Literal["cpu", "gpu"], typer.Option(help="With --run: cpu hides the GPUs from the script.")
    ] = "cpu",
    updates: Annotated[
        int, typer.Option(min=1, help="With --run: number of updates after which a run ends.")
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option(callback=positive, help="With --run: time limit of a run in seconds."),
    ] = 600.0,
    memory: Annotated[
        float, typer.Option(min=0, help="With --run: memory limit of a run in GiB; 0 for none.")
    ] = 0.0,
    json: JsonOption = False,
) -> int:
    """Extract the recipe that training scripts and configurations encode."""
    from crosscast.lift.batch import groups_of, read_sources

    versions = named_versions(version or [])
    if run:
        from crosscast.cli.lift_run import lift_and_run
        from crosscast.lift.run_proof import Demand

        demand = Demand(
            command=run,
            python=python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
        )
        write = partial(_write_one, output=output, force=force) if output else None
        return lift_and_run(
            paths, demand, versions=versions, correct=correct, json=json, write=write
        )
    if correct:
        message = "--correct needs --run"
        raise DiagnosticError(Diagnostic(code="CC919", message=message))
    sources, problems = read_sources(paths)
    groups = groups_of(sources, paths)
    reports = _lifted(groups, versions, jobs)
    found = [*problems, *(diagnostic for report in reports for diagnostic in report.diagnostics)]
    if not reports and not problems:
        found.append(
            Diagnostic(
                code="CC915",
                message=f"{', '.join(paths)}: no file belongs to a training run",
            )
        )
    if json:
        print_json(
            {
                "version": 1,
                "groups": [report.data for report in reports],
                "diagnostics": [problem.to_json() for problem in problems],
            }
        )
    if output:
        _write(reports, output, force=force)
    elif not json:
        _show(reports)
    if not json:
        print_diagnostics(found)
    if any(problem.code.startswith("CC0") for problem in problems):
        return EXIT_USAGE
    unread = any(_is_unread(report, paths) for report in reports)
    return EXIT_FINDINGS if unread or exit_code(found) else EXIT_OK


def _is_unread(report: Report, paths: Sequence[str]) -> bool:
    """Whether the user named a program that cannot be read, and nothing else was found."""
    from crosscast.lift.drafting import is_unread

    named = any(source in paths for source in report.sources)
    return named and not report.rows and is_unread(report.diagnostics)


def named_versions(texts: Sequence[str]) -> dict[str, str]:
    """Return package to version from `NAME=VERSION` options.

    Raises:
        DiagnosticError: CC919 for another syntax.
    """
    versions = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals or not name.strip() or not number.strip()[:1].isdigit():
            message = f"--version {text!r} is not NAME=VERSION"
            raise DiagnosticError(Diagnostic(code="CC919", message=message, hint="torch=2.1"))
        versions[name.strip()] = number.strip()
    return versions


def _lifted(
    groups: Sequence[tuple[Source, ...]], versions: Mapping[str, str], jobs: int
) -> list[Report]:
    """Read everything, with progress on a terminal."""
    from crosscast.lift.batch import lift_groups

    if len(groups) < _MANY or not sys.stderr.isatty():
        return lift_groups(groups, versions, jobs=jobs)
    from rich.console import Console
    from rich.progress import Progress

    # Without a refresh thread, because processes are forked meanwhile.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as shown:
        task = shown.add_task("reading", total=len(groups))

        def progress(done: int, total: int) -> None:
            shown.update(task, completed=done, refresh=True)

        return lift_groups(groups, versions, jobs=jobs, progress=progress)


def _show(reports: Sequence[Report]) -> None:
    from crosscast.lift.report import COLUMNS

    for index, report in enumerate(report for report in reports if report.rows):
        if len(reports) > 1:
            print(f"{'' if not index else chr(10)}== {', '.join(report.sources)}")
        print_table(COLUMNS, report.rows, long=("from",))
        if report.summary:
            print_text(report.summary)


def _write_one(report: Report, *, output: str, force: bool) -> None:
    _write([report], output, force=force)


def _write(reports: Sequence[Report], output: str, *, force: bool) -> None:
    from crosscast.messages.output import OutputFile, write_files

    written = [report for report in reports if report.text]
    if output == "-":
        print("---\n".join(report.text for report in written), end="")
        print(*filter(None, (report.summary for report in written)), sep="\n", file=sys.stderr)
        return
    path = Path(output)
    if path.is_dir() or output.endswith("/"):
        names: dict[str, OutputFile] = {}
        for report in written:
            stem = Path(report.name.strip("<>")).stem
            name, count = f"{stem}.recipe.yaml", 2
            while name in names:
                name, count = f"{stem}-{count}.recipe.yaml", count + 1
            names[name] = OutputFile(report.text)
        write_files(path, names, force=force, manifest=False)
        for name, report in zip(names, written, strict=True):
            print(*filter(None, (f"{path / name}:", report.summary)))
        return
    if len(written) != 1:
        message = f"-o names a single file, but {len(written)} runs were found"
        hint = "pass a folder to -o, or name the files of one run"
        raise DiagnosticError(Diagnostic(code="CC919", message=message, hint=hint))
    write_files(path.parent, {path.name: OutputFile(written[0].text)}, force=force, manifest=False)
    print(*filter(None, (f"{path}:", written[0].summary)))
