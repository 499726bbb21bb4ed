"""The command `crosscast lint`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.api.parameters import Format, Parameter
from crosscast.cli.options import options_of, output
from crosscast.cli.progress import progress_bar
from crosscast.cli.screens import show_head
from crosscast.messages.console import (
    EXIT_FINDINGS,
    EXIT_OK,
    exit_code,
    fitted_report,
    print_diagnostics,
    print_screen,
)
from crosscast.messages.diagnostics import DiagnosticError, failure
from crosscast.messages.language import WORDINGS, Language, spoken
from crosscast.messages.terminal import escaped, print_document, styled_stream

if TYPE_CHECKING:
    from crosscast.api.linting import Lint


@options_of(
    "linting.lint",
    format="exclude",
    output="exclude",
    write_baseline="baseline",
    fix="baseline",
    diff="baseline",
    list_rules="baseline",
    explain="baseline",
)
def lint_command(
    lint: Callable[..., Lint],
    *,
    paths: list[str] | None = None,
    format: Annotated[Format, Parameter("Output format.")] = "text",
    output: Annotated[str, output("File for the output.", "FILE")] = "-",
    baseline: str,
    write_baseline: Annotated[bool, Parameter("Write all findings to the baseline file.")] = False,
    fix: Annotated[bool, Parameter("Apply the safe fixes.")] = False,
    diff: Annotated[
        bool, Parameter("Show what --fix would change, without changing files.")
    ] = False,
    list_rules: Annotated[bool, Parameter("List all rules.")] = False,
    explain: Annotated[
        str, Parameter("Print the documentation of a rule.", "CODE", words="rules")
    ] = "",
) -> int:
    """Find mistakes in mixed precision and gradient accumulation."""
    if list_rules or explain:
        return _about_rules(explain)
    _refuse(write_baseline and not baseline, "--write-baseline needs --baseline FILE")
    _refuse(
        write_baseline and (fix or diff), "--write-baseline cannot be combined with --fix or --diff"
    )
    _refuse(diff and format != "text", "--diff cannot be combined with --format")
    with progress_bar("checking") as progress:
        report = lint(
            paths=paths or (),
            baseline="" if write_baseline else baseline,
            fix=fix or diff,
            progress=progress,
        )
    if write_baseline:
        _write(baseline, report.baseline(baseline))
        print(f"{baseline}: {len(report.findings)} findings", file=sys.stderr)
        print_diagnostics(report.problems)
        return exit_code(report.problems)
    if diff:
        _print_diff(report)
        return report.exit_code or (EXIT_FINDINGS if report.changed else EXIT_OK)
    if fix:
        report = _apply(report)
    to_stderr = fix and report.stdin is not None and output == "-"
    _print(report, format, output, to_stderr=to_stderr)
    return report.exit_code


def _about_rules(explain: str) -> int:
    from crosscast.api.linting import RULE_COLUMNS, lint_rules
    from crosscast.messages.screens import Table
    from crosscast_reading.lint import rule_page

    language = spoken(sys.stdout)
    if explain:
        print(rule_page.explain(lint_rules(explain).rules[0], language), end="")
    else:
        rule_list = lint_rules()
        rows = rule_page.rows(rule_list.rules, language)
        print_screen(rule_list.head, [Table(RULE_COLUMNS, rows, long=("what",))])
    return EXIT_OK


def _refuse(wrong: bool, message: str) -> None:
    if wrong:
        raise failure("CC951", message)


def _apply(report: Lint) -> Lint:
    """Write the fixed files; the text from stdin goes to stdout."""
    if report.stdin is not None:
        print_document(report.stdin)
    try:
        report.write()
    except DiagnosticError as error:
        report = replace(report, problems=(*report.problems, *error.diagnostics))
    if report.fixed:
        print(f"Fixed {_findings(len(report.fixed))}.", file=sys.stderr)
    return report


def _print_diff(report: Lint) -> None:
    print_document(report.diff)
    print_diagnostics(report.problems)
    fixed, left = _findings(len(report.fixed)), len(report.findings)
    print(f"Would fix {fixed}; {left} would remain.", file=sys.stderr)


def _findings(number: int) -> str:
    return f"{number} finding{'s' * (number != 1)}"


def _print(report: Lint, format: Format, output: str, *, to_stderr: bool) -> None:
    stream = None if output != "-" else sys.stderr if to_stderr else sys.stdout
    text = _text(report, spoken(stream)) if format == "text" else report.format(format)
    if format == "text":
        show_head(report)
    if output != "-":
        _write(output, text)
    elif format == "text" and not to_stderr:
        _print_text(text)
    else:
        print(text, end="", file=sys.stderr if to_stderr else sys.stdout)
    if format in ("text", "sarif"):
        print_diagnostics(report.problems)


def _text(report: Lint, language: Language) -> str:
    from crosscast_reading.lint.formats.text import text

    return text(report.findings, language)


def _print_text(text: str) -> None:
    """Print findings to stdout, in color if the terminal supports it."""
    if not text:
        return
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print(fitted_report(text, sys.stdout))
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(f"{escaped(fitted_report(text, sys.stdout))}\n")
    words = WORDINGS[spoken(sys.stdout)].severities
    for severity, style in (("error", "bold red"), ("warning", "yellow"), ("note", "cyan")):
        styled.highlight_regex(rf"(?m)(?<=: ){words[severity]} CL\d+", style)
    styled.highlight_regex(r"(?m)^    \s*\^+$", "bold magenta")
    stream = styled_stream(sys.stdout)
    Console(file=stream, soft_wrap=True, highlight=False).print(styled, end="")


def _write(path: str, text: str) -> None:
    from crosscast_reading.sources.files import write_whole

    write_whole(Path(path), text.encode("utf-8", "backslashreplace"))
