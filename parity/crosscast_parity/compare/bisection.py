"""Find the recipe fields that explain why a program differs from the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.variations.changes import value_at
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.recipes import bisect_recipes, differences
from crosscast_parity.bisect.script_cause import bisect_script
from crosscast_parity.bisect.trials import Bisection
from crosscast_parity.checks.check import Check, failures
from crosscast_parity.compare.report_builder import Outcomes
from crosscast_parity.exercise.recorded_runs import recorded_runs
from crosscast_parity.judge.records import BisectionRecord, BisectionStep, Pair, ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.runs import VARIANTS
from crosscast_parity.runs.outcomes import StageResult

COMPARED = ("L0a", "L0c", "L1a", "L1c", "L2")
"""Levels that need two programs."""
CHANGED = "changed"
Rerun = Callable[[Contestant, Contestant, StageResult], ParityReport]
"""Compares two programs in one stage, with the rows and weights of the first comparison."""


def bisect_pairs(
    outcomes: Outcomes, report: ParityReport, rerun: Rerun
) -> tuple[BisectionRecord, ...]:
    """Bisect every pair that differs.

    Args:
        outcomes: what the comparison has made.
        report: what it found.
        rerun: makes the runs that the records cannot replace.
    """
    return tuple(
        _record(pair, _bisect(outcomes, report, pair, rerun))
        for pair in report.pairs
        if pair.verdict == "DIFFERENT" and report.reference
    )


def _bisect(outcomes: Outcomes, report: ParityReport, pair: Pair, rerun: Rerun) -> Bisection:
    result = _stage_of(outcomes, pair)
    ours = outcomes.contestants[pair.contestant]
    theirs = outcomes.contestants[pair.reference]
    mine = result.recipes[ours.name]

    def run(recipe: Recipe) -> tuple[Check, ...] | None:
        changed = Contestant(
            name=CHANGED, target=theirs.target, recipe=recipe, python=theirs.python
        )
        try:
            outcome = rerun(replace(ours, recipe=mine), changed, result)
        except DiagnosticError:
            return None
        if outcome.reference != CHANGED or not outcome.pairs:
            return None
        checks = _compared(outcome.pairs[0].checks, result.stage.name)
        blind = {
            finished.spec.name
            for finished in result.all_of(ours.name)
            if replaced_in(finished.spec.variant, mine, recipe)
        }
        return tuple(
            check
            for check in checks
            if (check.level != "L0a" or check.run not in blind)
            and (same_loss(mine, recipe) or not check.name.startswith("first loss,"))
        )

    recorded = RecordedRuns(
        recipe=mine,
        runs=tuple(recorded_runs(result, ours.name)),
        run=None if result.stage.toy else run,
    )
    other = result.recipes[theirs.name]
    own = report.entrant(pair.contestant).checks
    if mine != other and not any(failures(own)):
        return bisect_recipes(recorded, other)
    return bisect_script(recorded, list(_compared(pair.checks, result.stage.name)))


def same_loss(recipe: Recipe, other: Recipe) -> bool:
    """Whether the loss functions of two recipes return the same: sums over rows, or their means.

    The first losses of two scripts cannot be compared otherwise; their gradients can.
    """
    means = [variant.accumulation.normalize_by == "microbatch" for variant in (recipe, other)]
    return means[0] == means[1]


def replaced_in(variant: str, recipe: Recipe, other: Recipe) -> bool:
    """Whether a variant puts a value of its own where two recipes differ.

    The stress runs start at a loss scale of their own. A script that doubles its first scale does
    so there, too, and a recipe with twice the first scale does not: trained again, their traces
    differ, which says nothing. The records have been asked about the doubled scale of these runs.
    """
    derive = VARIANTS[variant]
    main, ours, theirs = (
        document.model_dump() for document in (recipe, derive(recipe), derive(other))
    )
    return any(
        _value(ours, difference.path) is not None
        and _value(main, difference.path)
        != _value(ours, difference.path)
        == _value(theirs, difference.path)
        for difference in differences(recipe, other)
    )


def _value(data: dict[str, Any], path: str) -> Any:
    try:
        return value_at(data, path)
    except KeyError:
        return None


def _stage_of(outcomes: Outcomes, pair: Pair) -> StageResult:
    """Return the stage of the first check that fails, one of the toy only where no other does.

    That of the results has no records.
    """
    failed = [check.stage for check in failures(pair.checks)]
    stages = {result.stage.name: result for result in outcomes.results}
    stage_results = sorted((stages[name] for name in failed if name in stages), key=_is_toy)
    return next(iter(stage_results), outcomes.results[0])


def _is_toy(result: StageResult) -> bool:
    return result.stage.toy


def _compared(checks: Iterable[Check], stage: str) -> list[Check]:
    return [check for check in checks if check.level in COMPARED and check.stage == stage]


def _record(pair: Pair, bisection: Bisection) -> BisectionRecord:
    return BisectionRecord(
        contestant=pair.contestant,
        reference=pair.reference,
        fields=bisection.fields,
        wording=bisection.sentence,
        steps=tuple(
            BisectionStep(
                changes=trial.changes,
                gap=0.0 if trial.closed else trial.excess,
                level=bisection.check,
                value=trial.value,
                limit=trial.limit,
            )
            for trial in bisection.trials
            if trial.failing is not None
        ),
    )
