"""L3: the results of a program and of the reference over the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from crosscast.recipe.document import BertModel, SyntheticData
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.seeds import SeedResult, judge_seeds, margins_of, train_loss_tail
from crosscast_parity.runs.outcomes import FinishedRun, StageResult


def seed_checks(
    results: Sequence[StageResult], contestant: str, reference: str
) -> tuple[Check, ...]:
    """Judge the paired results of all seeds, if there are stages with seeds."""
    seeded = [result for result in results if result.stage.seed is not None]
    if not seeded:
        return ()
    ours = seed_results(seeded, contestant)
    theirs = seed_results(seeded, reference)
    recipe = seeded[0].recipes[reference]
    rows = recipe.data.eval_rows if isinstance(recipe.data, SyntheticData) else None
    plateau = log(recipe.model.labels) if isinstance(recipe.model, BertModel) else None
    margins = margins_of(recipe.loss, theirs)
    return judge_seeds(ours, theirs, margins, plateau=plateau, eval_rows=rows)


def seed_results(results: Sequence[StageResult], contestant: str) -> list[SeedResult]:
    """Return a program's results for the finished seeds."""
    of_seeds = []
    for result in results:
        finished = result.of(contestant, "main")
        if finished and result.stage.seed is not None:
            of_seeds.append(_result(result.stage.seed, finished))
    return of_seeds


def _result(seed: int, finished: FinishedRun) -> SeedResult:
    status = finished.run.outcome.status
    evaluation = status.eval if status else None
    return SeedResult(
        seed=seed,
        train_loss_tail=train_loss_tail(finished.run.rows),
        eval_loss=evaluation.loss if evaluation else None,
        eval_accuracy=evaluation.accuracy if evaluation else None,
    )
