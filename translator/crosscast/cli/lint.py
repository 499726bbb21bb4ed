"""The command `crosscast lint`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.messages.console import (
    EXIT_FINDINGS,
    EXIT_OK,
    exit_code,
    print_diagnostics,
    print_table,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.lint.run import Report, Request

Format = Literal["text", "json", "sarif", "github", "gitlab"]
FailOn = Literal["error", "warning", "note"]
_MANY = 20
"""Minimum number of groups of sources for a progress display."""


def lint(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Files and folders, or - for stdin."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE,...", help="Rules to enable: codes, code prefixes, names or ALL."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CODE,...", help="Rules to disable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN,...", help="Paths to exclude.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = "text",
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="File for the output.")
    ] = "-",
    baseline: Annotated[
        str, typer.Option(metavar="FILE", help="Ignore the findings listed in this file.")
    ] = "",
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write all findings to the baseline file.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change, without changing files.")
    ] = False,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="List all rules.")] = False,
    explain: Annotated[
        str, typer.Option(metavar="CODE", help="Print the documentation of a rule.")
    ] = "",
    stdin_name: Annotated[
        str, typer.Option(metavar="NAME", help="File name to report for stdin.")
    ] = "<stdin>",
    jobs: Annotated[
        int, typer.Option(min=0, help="Maximum number of processes; 0 chooses automatically.")
    ] = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also say what could not be followed.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="Lowest severity of findings that gives exit code 1.")
    ] = "note",
) -> int:
    """Find mistakes in mixed precision and gradient accumulation."""
    if list_rules or explain:
        return _about_rules(explain)
    _refuse(not paths, "name at least one file or folder")
    _refuse(write_baseline and not baseline, "--write-baseline needs --baseline FILE")
    _refuse(
        write_baseline and (fix or diff), "--write-baseline cannot be combined with --fix or --diff"
    )
    _refuse(diff and format != "text", "--diff cannot be combined with --format")
    from crosscast.lint import baseline as known
    from crosscast.lint.run import Request

    request = Request(
        paths=paths or (),
        stdin_name=stdin_name,
        jobs=jobs,
        fix=fix or diff,
        baseline=known.load(baseline) if baseline and not write_baseline else None,
    )
    _configure(request, _split(select), _split(ignore), _split(exclude), verbose=verbose)
    report = _checked(request)
    if write_baseline:
        _write(baseline, known.text_of(report.results, baseline))
        print(f"{baseline}: {sum(o.is_finding for o in report.results)} findings", file=sys.stderr)
        print_diagnostics(report.problems)
        return exit_code(report.problems)
    if diff:
        _print_diff(report)
    else:
        if fix:
            _apply(report, stdin_name)
        to_stderr = fix and "-" in request.paths and output == "-"
        _print(report, format, output, to_stderr=to_stderr)
    return _exit_code(report, fail_on, diff)


def _about_rules(explain: str) -> int:
    from crosscast.lint import registry, rule_page

    if explain:
        print(rule_page.explain(registry.find_rule(explain)), end="")
    else:
        columns = ("code", "name", "topic", "severity", "fix", "what")
        print_table(columns, rule_page.rows(registry.all_rules().values()), long=("what",))
    return EXIT_OK


def _refuse(wrong: bool, message: str) -> None:
    if wrong:
        raise DiagnosticError(Diagnostic(code="CC951", message=message))


def _split(texts: Sequence[str] | None) -> list[str]:
    return [word.strip() for text in texts or () for word in text.split(",") if word.strip()]


def _configure(
    request: Request,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    *,
    verbose: bool,
) -> None:
    """Apply the settings of the project and the command line to a request."""
    from crosscast.lint.config import find_config
    from crosscast.lint.options import Options
    from crosscast.lint.registry import expand

    config = find_config(Path.cwd())
    selected = select or config.select
    request.options = Options(
        codes=expand(selected, "select") if selected else None,
        ignored=expand([*config.ignore, *ignore], "ignore"),
        per_file=tuple(
            (pattern, expand(words, "per-file-ignores"))
            for pattern, words in config.per_file.items()
        ),
        root=config.root,
        verbose=verbose,
    )
    request.exclude = (*config.exclude, *exclude)


def _checked(request: Request) -> Report:
    """Check all sources, with progress on a terminal."""
    from crosscast.lint.run import run

    if not sys.stderr.isatty():
        return run(request)
    from rich.console import Console
    from rich.progress import Progress, TaskID

    # Without a refresh thread, because processes are forked meanwhile.
    shown = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
    tasks: list[TaskID] = []

    def progress(done: int, all: int) -> None:
        if all < _MANY:
            return
        if not tasks:
            shown.start()
            tasks.append(shown.add_task("checking", total=all))
        shown.update(tasks[0], completed=done, total=all, refresh=True)

    request.progress = progress
    try:
        return run(request)
    finally:
        if tasks:
            shown.stop()


def _apply(report: Report, stdin_name: str) -> None:
    """Write the fixed files; the text from stdin goes to stdout."""
    from crosscast.lint.fix import write

    assert report.fixed is not None
    texts = dict(report.fixed.texts)
    piped = report.files.get(stdin_name)
    if piped is not None and piped.stdin:
        print(texts.pop(stdin_name, piped.source.text), end="")
    problems = write(report.files, texts)
    report.problems = [*report.problems, *problems]
    if report.fixed.repaired:
        print(f"Fixed {_findings(report.fixed.repaired)}.", file=sys.stderr)


def _print_diff(report: Report) -> None:
    from crosscast.lint.fix import diff_of

    assert report.fixed is not None
    for name, text in report.fixed.texts.items():
        print(diff_of(report.files[name].source, text), end="")
    print_diagnostics([*report.problems, *_troubles(report)])
    left = sum(result.is_finding for result in report.results)
    fixed = _findings(report.fixed.repaired)
    print(f"Would fix {fixed}; {left} would remain.", file=sys.stderr)


def _findings(number: int) -> str:
    return f"{number} finding{'s' * (number != 1)}"


def _troubles(report: Report) -> list[Diagnostic]:
    return [result.diagnostic() for result in report.results if not result.is_finding]


def _print(report: Report, format: Format, output: str, *, to_stderr: bool) -> None:
    from crosscast.lint.result import of_diagnostic

    findings = [result for result in report.results if result.is_finding]
    everything = [*report.results, *map(of_diagnostic, report.problems)]
    if format == "json":
        from crosscast.lint.formats.plain import as_json

        text = as_json(everything)
    elif format == "github":
        from crosscast.lint.formats.github import github

        text = github(everything)
    elif format == "gitlab":
        from crosscast.lint.formats.gitlab import gitlab

        text = gitlab(everything)
    elif format == "sarif":
        from crosscast.lint.formats.sarif import sarif

        text = sarif(everything)
    else:
        from crosscast.lint.formats import text as plain

        text = plain.text(findings)
    if output != "-":
        _write(output, text)
    elif format == "text" and not to_stderr:
        _print_text(text)
    else:
        print(text, end="", file=sys.stderr if to_stderr else sys.stdout)
    if format in ("text", "sarif"):
        print_diagnostics([*report.problems, *_troubles(report)])
    if format == "text":
        from crosscast.lint.formats.text import summary

        print(_summary(report, summary(findings, report.looked_at)), file=sys.stderr)


def _summary(report: Report, line: str) -> str:
    if report.known:
        line += f" {report.known} in the baseline."
    if report.gone:
        gone = f"{report.gone} baseline entr{'y' if report.gone == 1 else 'ies'}"
        line += f" {gone} no longer found: update the baseline with --write-baseline."
    return line


def _print_text(text: str) -> None:
    """Print findings to stdout, in color if the terminal supports it."""
    if not text:
        return
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print(text, end="")
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for severity, style in (("error", "bold red"), ("warning", "yellow"), ("note", "cyan")):
        styled.highlight_regex(rf"(?m)(?<=: ){severity} CL\d+", style)
    styled.highlight_regex(r"(?m)^    \s*\^+$", "bold magenta")
    Console(soft_wrap=True, highlight=False).print(styled, end="")


def _write(path: str, text: str) -> None:
    from crosscast.sources.files import write_whole

    write_whole(Path(path), text.encode("utf-8", "backslashreplace"))


def _exit_code(report: Report, fail_on: FailOn, diff: bool) -> int:
    troubles = exit_code([*report.problems, *_troubles(report)])
    if troubles:
        return troubles
    ranks = ("error", "warning", "note")
    counted = ranks[: ranks.index(fail_on) + 1]
    failed = any(str(result.severity) in counted for result in report.results if result.is_finding)
    changed = diff and report.fixed is not None and bool(report.fixed.texts)
    return EXIT_FINDINGS if failed or changed else EXIT_OK
