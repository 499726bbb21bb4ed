"""Find mistakes in training scripts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from crosscast.api import html
from crosscast.api.calls import Paths, Words, paths_of, public, words_of
from crosscast.api.files import counted
from crosscast.api.parameters import JOBS, Format, Parameter, rules
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast_reading.lint.result import Result as Finding
    from crosscast_reading.lint.rule import Rule
    from crosscast_reading.lint.run import Report, Request

FailOn = Literal["error", "warning", "note"]
RANKS = ("error", "warning", "note")
COLUMNS = ("place", "severity", "code", "message")
RULE_COLUMNS = ("code", "name", "topic", "severity", "fix", "what")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lint(Result):
    """The findings in programs, and with `fix` the changed programs, which are not on disk."""

    findings: tuple[Finding, ...]
    """What rules reported: code (CL...), name, severity, message, span, hint, edits."""
    problems: tuple[Diagnostic, ...]
    """What could not be checked or read."""
    fixed: tuple[Finding, ...] = ()
    """The findings that the changes remove, with `fix`."""
    fail_on: FailOn = "note"
    _report: Report

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Findings and problems as diagnostics."""
        return (*(finding.diagnostic() for finding in self.findings), *self.problems)

    @property
    def changed(self) -> dict[str, str]:
        """Changed file to its new text, with `fix`."""
        return dict(self._report.fixed.texts) if self._report.fixed else {}

    @property
    def diff(self) -> str:
        """The changes of `fix` as a unified diff."""
        from crosscast_reading.lint.fix import diff_of

        files = self._report.files
        return "".join(diff_of(files[name].source, text) for name, text in self.changed.items())

    @property
    def stdin(self) -> str | None:
        """The text of standard input after `fix`; None if it was not checked."""
        piped = [file for file in self._report.files.values() if file.stdin]
        return self.changed.get(piped[0].source.name, piped[0].source.text) if piped else None

    def write(self) -> tuple[Path, ...]:
        """Write the changed files, with `fix`; return their paths. Standard input is none of them.

        Raises:
            DiagnosticError: CC502 for files that could not be written; the others were.
        """
        from crosscast_reading.lint.fix import write

        files = self._report.files
        texts = {name: text for name, text in self.changed.items() if not files[name].stdin}
        problems = write(files, texts)
        if problems:
            raise DiagnosticError(*problems)
        return tuple(Path(name) for name in texts)

    def baseline(self, path: str | os.PathLike[str]) -> str:
        """Return the text of a baseline file with all findings, for that path."""
        from crosscast_reading.lint.baseline import text_of

        return text_of(self._report.results, os.fspath(path))

    @public
    def format(self, format: Annotated[Format, Parameter("The format.")]) -> str:
        """Return the report in a format.

        Raises:
            DiagnosticError: CC016 for another format.
        """
        from crosscast_reading.lint.result import of_diagnostic

        everything = [*self.findings, *map(of_diagnostic, self.problems)]
        if format == "json":
            from crosscast_reading.lint.formats.plain import as_json

            return as_json(everything)
        if format == "github":
            from crosscast_reading.lint.formats.github import github

            return github(everything)
        if format == "gitlab":
            from crosscast_reading.lint.formats.gitlab import gitlab

            return gitlab(everything)
        if format == "sarif":
            from crosscast_reading.lint.formats.sarif import sarif

            return sarif(everything)
        from crosscast_reading.lint.formats.text import text

        return text(self.findings)

    @property
    def exit_code(self) -> Exit:
        """1 for findings of the severity `fail_on` or above, or files that cannot be checked."""
        if troubles := exit_code_of(self.problems):
            return troubles
        ranks = RANKS[: RANKS.index(self.fail_on) + 1]
        failed = any(str(finding.severity) in ranks for finding in self.findings)
        return EXIT_FINDINGS if failed else EXIT_OK

    @property
    def summary(self) -> str:
        """The numbers of findings and files."""
        from crosscast_reading.lint.formats.text import summary

        line = summary(self.findings, self._report.looked_at)
        if self._report.known:
            line += f" {self._report.known} in the baseline."
        if self._report.gone:
            gone = f"{self._report.gone} baseline entr{'y' if self._report.gone == 1 else 'ies'}"
            line += f" {gone} no longer found: update the baseline with --write-baseline."
        return line

    @property
    def _about(self) -> str:
        files = self._report.looked_at
        return f"{counted(files, 'file')} with training"

    @property
    def _next(self) -> str:
        if not self.findings:
            return "crosscast lift says which recipe the files encode"
        if any(finding.edits for finding in self.findings):
            return "--fix applies the safe fixes, --diff shows them, --explain CODE says why"
        return "--explain CODE says why a finding matters and what to write instead"

    def __str__(self) -> str:
        return "\n".join([*self.head, self.format("text").rstrip()]).rstrip()

    def _html(self) -> Iterator[str]:
        if self.changed:
            yield html.folded(f"{counted(len(self.fixed), 'finding')} fixed", html.pre(self.diff))


@public
def lint(
    paths: Annotated[Paths, Parameter("Files and folders, or - for stdin.", "[PATH...]")],
    *,
    select: Annotated[
        Words | None, rules("Rules to enable: codes, code prefixes, names or ALL.")
    ] = None,
    ignore: Annotated[Words | None, rules("Rules to disable.")] = None,
    exclude: Annotated[
        Words | None, Parameter("Patterns of paths to exclude.", "PATTERN,...")
    ] = None,
    baseline: Annotated[
        str | os.PathLike[str], Parameter("Ignore the findings listed in this file.", "FILE")
    ] = "",
    fix: bool = False,
    stdin_name: Annotated[str, Parameter("File name to report for stdin.", "NAME")] = "<stdin>",
    jobs: Annotated[int, JOBS] = 0,
    verbose: Annotated[bool, Parameter("Also say what could not be followed.")] = False,
    fail_on: Annotated[
        FailOn, Parameter("Lowest severity of findings that gives exit code 1.")
    ] = "note",
    progress: Callable[[int, int], None] | None = None,
) -> Lint:
    """Find mistakes in mixed precision and gradient accumulation. Nothing is executed or written.

    Without `select`, the rules are those of the project's `pyproject.toml`, which is looked for as
    by the command, or all.

    Args:
        fix: Also compute the safe fixes: see `Lint.changed`, `Lint.diff` and `Lint.write`.
        progress: Called with the number of finished groups of files and of all.

    Raises:
        DiagnosticError: CC951 for a rule that does not exist, CC952 for wrong settings, CC954 for
            a file that is no baseline. Files that cannot be read are part of the result.
    """
    from crosscast_reading.lint import baseline as known
    from crosscast_reading.lint.run import Request, run

    named = paths_of(paths)
    if not named:
        raise failure("CC951", "name at least one file or folder")
    file = os.fspath(baseline)
    request = Request(
        paths=named,
        stdin_name=stdin_name,
        jobs=jobs,
        fix=fix,
        baseline=known.load(file) if file else None,
    )
    if progress:
        request.progress = progress
    _configure(request, words_of(select), words_of(ignore), words_of(exclude), verbose=verbose)
    report = run(request)
    troubles = [result.diagnostic() for result in report.results if not result.is_finding]
    return Lint(
        findings=tuple(result for result in report.results if result.is_finding),
        problems=(*report.problems, *troubles),
        fixed=tuple(report.fixed.made) if report.fixed else (),
        fail_on=fail_on,
        _report=report,
    )


def _configure(
    request: Request,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    *,
    verbose: bool,
) -> None:
    """Apply the settings of the project and the arguments to a request."""
    from crosscast_reading.lint.config import find_config
    from crosscast_reading.lint.options import options_of

    config = find_config(Path.cwd())
    request.options = options_of(config, select=select, ignore=ignore, verbose=verbose)
    request.exclude = (*config.exclude, *exclude)


@dataclass(frozen=True, slots=True, repr=False)
class LintRules(Result):
    """Rules of lint."""

    rules: tuple[Rule, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str:
        """The documentation of the rules."""
        from crosscast_reading.lint.rule_page import explain

        return "\n".join(explain(rule) for rule in self.rules)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Code, name, topic, severity, whether `fix` applies, and title of every rule."""
        from crosscast_reading.lint.rule_page import rows

        return [*rows(self.rules)]

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of rules."""
        return counted(len(self.rules), "rule")

    @property
    def _about(self) -> str:
        return "the rules of crosscast lint"

    @property
    def _next(self) -> str:
        return "crosscast lint --explain CODE prints the documentation of a rule"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        yield Table(RULE_COLUMNS, self.rows, long=("what",))

    def _html(self) -> Iterator[str]:
        yield html.table(RULE_COLUMNS, self.rows, long=("what",))
        if len(self.rules) == 1:
            yield html.pre(self.text)


@public
def lint_rules(*codes: str) -> LintRules:
    """Return the rules of lint, or those with some codes or names.

    Args:
        codes: codes or names of rules; none for all.

    Raises:
        DiagnosticError: CC951 for a rule that does not exist.
    """
    from crosscast_reading.lint.registry import all_rules, find_rule

    if codes:
        return LintRules(tuple(find_rule(code) for code in codes))
    return LintRules(tuple(all_rules().values()))
