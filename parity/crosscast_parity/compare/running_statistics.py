"""Running statistics of a custom model after a short run against those of the reference."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_parity.checks.check import Check
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.recordings.left_files import WEIGHTS, read_tensors
from crosscast_parity.runs.outcomes import FinishedRun, StageResult


def after_short_run(
    result: StageResult, finished: FinishedRun, other: FinishedRun, shifted: FinishedRun | None
) -> Iterator[Check]:
    """Compare the running statistics that two runs in float32 have left, if the model has any."""
    custom = result.custom
    if (
        custom is None
        or shifted is None
        or not custom.statistics
        or finished.spec.dtype != "float32"
    ):
        return
    ours, theirs, moved = (
        custom.statistics_of(
            read_tensors(run.folder / WEIGHTS), result.frameworks[run.spec.contestant]
        )
        for run in (finished, other, shifted)
    )
    weights = custom.drawn if finished.spec.name.endswith("stress") else custom.start
    ends = (finished, other)
    frameworks = [result.frameworks[run.spec.contestant] for run in ends]
    apart = custom.variances_apart(*frameworks)
    last = finished.spec.windows - 1
    fewest = fewest_rows(finished)
    yield check_statistics(ours, theirs, [moved], weights, last, apart=apart, fewest=fewest)


def fewest_rows(finished: FinishedRun) -> int:
    """Return the rows of the smallest micro-batch of a run."""
    size = finished.spec.recipe.batch.micro_batch_size
    return min((row.rows - (row.n_micro - 1) * size for row in finished.run.rows), default=size)
