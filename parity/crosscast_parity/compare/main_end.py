"""What the longest run leaves against what that of the reference does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crosscast_parity.checks.check import Check
from crosscast_parity.compare.running_statistics import fewest_rows
from crosscast_parity.levels.envelope import Envelope
from crosscast_parity.levels.losses import check_end, doubt_of_end
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.left_files import WEIGHTS, read_tensors
from crosscast_parity.runs.outcomes import FinishedRun, StageResult

APART = "it reads running variances that differ by n / (n - 1)"


def end_of_main(
    result: StageResult, finished: FinishedRun, other: FinishedRun, envelope: Envelope
) -> Iterator[Check]:
    """Yield the checks of evaluation and running statistics after the longest run.

    Args:
        result: the stage.
        finished: the run of the program in question.
        other: that of the reference.
        envelope: noise of the reference.

    Raises:
        DiagnosticError: CC710 if a file of weights cannot be read.
    """
    ends = (run.run.outcome.status for run in (finished, other))
    ours, theirs = (status.eval if status else None for status in ends)
    custom = result.custom
    frameworks = [result.frameworks[run.spec.contestant] for run in (finished, other)]
    apart = custom.variances_apart(*frameworks) if custom else ()
    for check in check_end(ours, theirs, envelope, finished.spec.dtype):
        # The files of both are judged, and each evaluation against its own files (L1d).
        yield untested("L2", check.name, APART) if apart and check.result == "fail" else check
    if custom is None or not custom.statistics:
        return
    # Twins of short runs are recorded.
    twins = [t for t in result.twins(other.spec.contestant).values() if not t.spec.record]
    doubt = doubt_of_end(replace(envelope, twins=len(twins)))
    if doubt:
        yield untested("L2", "running statistics", doubt)
        return
    ours_left, theirs_left, *near = (
        custom.statistics_of(
            read_tensors(run.folder / WEIGHTS), result.frameworks[run.spec.contestant]
        )
        for run in (finished, other, *twins)
    )
    last = finished.spec.windows - 1
    yield check_statistics(
        *(ours_left, theirs_left, near, custom.start, last, "L2"),
        apart=apart,
        fewest=fewest_rows(finished),
    )
