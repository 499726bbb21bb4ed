"""L3: the results of a program and of the reference over the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from crosscast_parity.checks import Check
from crosscast_parity.gathered import Made, StageResult
from crosscast_parity.levels.seeds import SeedResult, judge_seeds

TAIL = 20
"""Windows at the end over which the training loss is averaged."""


def seed_checks(
    results: Sequence[StageResult], contestant: str, reference: str
) -> tuple[Check, ...]:
    """Judge the paired results of all seeds, if there are stages with seeds."""
    seeded = [result for result in results if result.stage.seed is not None]
    if not seeded:
        return ()
    ours = seed_results(seeded, contestant)
    theirs = seed_results(seeded, reference)
    return judge_seeds(ours, theirs)


def seed_results(results: Sequence[StageResult], contestant: str) -> list[SeedResult]:
    """Return the results of a program, of those seeds that came to an end."""
    found = []
    for result in results:
        made = result.of(contestant, "main")
        if made and result.stage.seed is not None:
            found.append(_result(result.stage.seed, made))
    return found


def _result(seed: int, made: Made) -> SeedResult:
    losses = [row.loss for row in made.run.rows[-TAIL:]]
    status = made.run.outcome.status
    evaluation = status.eval if status else None
    finite = [loss for loss in losses if loss is not None]
    return SeedResult(
        seed=seed,
        train_loss_tail=fmean(finite) if finite and len(finite) == len(losses) else None,
        eval_loss=evaluation.loss if evaluation else None,
        eval_accuracy=evaluation.accuracy if evaluation else None,
    )
