"""What the verdicts of a comparison mean for the command that made it."""

from __future__ import annotations

from crosscast_parity.judge.records import ParityReport

EXIT_EQUIVALENT, EXIT_NOT_EQUIVALENT, EXIT_CANNOT_RUN, EXIT_INTERRUPTED = 0, 1, 3, 130


def exit_code(report: ParityReport) -> int:
    """Return the exit code; success needs every requested comparison made and passed.

    Returns:
        0 if all programs are equivalent, 1 if a pair is different, inconclusive or ended in an
        error, 3 if something could not be tested on this machine, 130 if interrupted.
    """
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
