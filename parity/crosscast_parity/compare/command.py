"""The parity command, independent of the command-line library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscast_parity.compare.harness import OnProgress, compare, ignore
from crosscast_parity.inputs.custom import CustomModels
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options
from crosscast_parity.report.files import write_report
from crosscast_parity.report.terminal import print_summary
from crosscast_parity.runs.workspace import CompileTo

EXIT_EQUIVALENT, EXIT_NOT_EQUIVALENT, EXIT_CANNOT_RUN, EXIT_INTERRUPTED = 0, 1, 3, 130


def parity_command(
    contestants: Sequence[Contestant],
    *,
    options: Options,
    compile_to: CompileTo,
    on_progress: OnProgress = ignore,
    command: str = "",
    custom: CustomModels | None = None,
) -> int:
    """Compare programs, write the report, print the result.

    Args:
        contestants: what to compare.
        options: see `make_options`.
        compile_to: the compiler; writes one folder per target.
        on_progress: called whenever a run begins or ends.
        command: what the user typed, for the report.
        custom: see `compare`.

    Returns:
        0 if all programs are equivalent, 1 if a pair is different, inconclusive or ended in an
        error, 3 if something could not be tested on this machine, 130 if interrupted.

    Raises:
        DiagnosticError: the recipe or the options make a comparison impossible.
    """
    report = compare(
        contestants,
        options=options,
        compile_to=compile_to,
        on_progress=on_progress,
        custom=custom,
    )
    report = replace(report, command=command)
    page = write_report(report, options.workdir)
    print_summary(report, files=[page])
    return exit_code(report)


def exit_code(report: ParityReport) -> int:
    """Return the exit code; success needs every requested comparison made and passed."""
    if report.interrupted:
        return EXIT_INTERRUPTED
    verdicts = set(report.verdicts())
    if verdicts & {"DIFFERENT", "INCONCLUSIVE", "ERROR"}:
        return EXIT_NOT_EQUIVALENT
    if any(check.result == "fail" for entrant in report.entrants for check in entrant.checks):
        return EXIT_NOT_EQUIVALENT
    if not report.pairs and report.reference is None:
        cannot = all(run.outcome.kind in ("cannot_run", "finished") for run in report.runs)
        return EXIT_CANNOT_RUN if cannot else EXIT_NOT_EQUIVALENT
    return EXIT_CANNOT_RUN if "NOT TESTED" in verdicts else EXIT_EQUIVALENT
