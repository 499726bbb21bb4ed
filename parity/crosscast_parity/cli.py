"""The parity command without its command-line library: options in, text and an exit code out."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.recipe import Recipe
from crosscast_parity.checks import windows
from crosscast_parity.harness import CompileTo, OnEnd, ignore, run_parity
from crosscast_parity.options import Options
from crosscast_parity.records import ParityReport
from crosscast_parity.report import write_report

EXIT_EQUIVALENT, EXIT_NOT_EQUIVALENT, EXIT_CANNOT_RUN, EXIT_INTERRUPTED = 0, 1, 3, 130


def parity_command(
    recipe: Recipe,
    *,
    options: Options,
    compile_to: CompileTo,
    echo: Callable[[str], None],
    on_end: OnEnd = ignore,
) -> int:
    """Compare a recipe across targets, write the report, print the result.

    Args:
        recipe: what to compare.
        options: see `make_options`.
        compile_to: the compiler; writes one folder per target.
        echo: prints one line of the result.
        on_end: called whenever a process has ended, for progress.

    Returns:
        0 if all targets are equivalent, 1 if a pair is different, inconclusive or ended in an
        error, 3 if something could not be tested on this machine, 130 if interrupted.

    Raises:
        DiagnosticError: the recipe or the options make a comparison impossible.
    """
    report = run_parity(recipe, options=options, compile_to=compile_to, on_end=on_end)
    page = write_report(report, options.workdir)
    for line in summary(report):
        echo(line)
    echo(f"report: {page}")
    return exit_code(report)


def summary(report: ParityReport) -> list[str]:
    """Return the result in a few lines: one per pair, or the own checks of a lone target."""
    lines = [
        f"{pair.target} against {pair.reference}: {pair.verdict}: {pair.wording}"
        for pair in report.pairs
    ]
    if not report.pairs:
        lines += [_alone(report)]
    return lines


def _alone(report: ParityReport) -> str:
    run = report.main_runs()[0]
    if not run.outcome.complete:
        return f"{run.target}: {run.outcome.kind}: {run.outcome.message}"
    failed = [f"{c.name}: {c.wording}" for r in report.runs for c in r.checks if c.result == "fail"]
    what = "; ".join(failed) or "trace as the state machine says"
    half = "" if report.dtype == "float32" else f" ({report.dtype}: {run.execution})"
    return f"{run.target}: {windows(len(run.rows))}, {what}; nothing to compare it with{half}"


def exit_code(report: ParityReport) -> int:
    """Return the exit code; success needs every requested comparison made and passed."""
    if report.interrupted:
        return EXIT_INTERRUPTED
    verdicts = set(report.verdicts())
    own = [check for run in report.runs for check in run.checks]
    if verdicts & {"DIFFERENT", "INCONCLUSIVE", "ERROR"}:
        return EXIT_NOT_EQUIVALENT
    if any(check.result == "fail" for check in own):
        return EXIT_NOT_EQUIVALENT
    if not report.pairs and report.reference is None:
        cannot = report.main_runs()[0].outcome.kind == "cannot_run"
        return EXIT_CANNOT_RUN if cannot else EXIT_NOT_EQUIVALENT
    return EXIT_CANNOT_RUN if "NOT TESTED" in verdicts else EXIT_EQUIVALENT
