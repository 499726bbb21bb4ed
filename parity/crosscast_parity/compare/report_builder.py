"""Build the report of a comparison from its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crosscast.recipe.document import BertModel
from crosscast_parity.bisect.unobservable_fields import hidden_in
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.paired_seeds import seed_checks
from crosscast_parity.compare.stage_checks import own_checks, pair_checks, stage_envelope
from crosscast_parity.exercise.recorded_runs import fields_exercised
from crosscast_parity.exercise.rules import by_design
from crosscast_parity.judge.records import (
    Difference,
    Entrant,
    FieldExercise,
    Pair,
    ParityReport,
    Run,
    StageRecord,
    TensorErrors,
)
from crosscast_parity.judge.verdict import by_level, conclude
from crosscast_parity.levels.envelope import Envelope
from crosscast_parity.levels.machine import applied_faults
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.options import Options
from crosscast_parity.processes.run_cache import folder_hash, versions
from crosscast_parity.recipes.derived import comparable, without_dropout
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.runs.workspace import Workspace
from crosscast_parity.toy.model import WEIGHTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """All that a comparison has made.

    `wanted`: the reference that was asked for. `evaluations`: checks of those that runs of custom
    models report, by contestant.
    """

    options: Options
    contestants: Mapping[str, Contestant]
    wanted: str
    execution: Mapping[str, Execution]
    results: Sequence[StageResult]
    scripts: Workspace
    stressed: tuple[str, ...]
    evaluations: Mapping[str, Sequence[Check]] = field(default_factory=dict)

    def runs(self, name: str) -> list[Run]:
        """Return the runs of a program, but for the perturbed ones."""
        return [finished.run for result in self.results for finished in result.all_of(name)]


def report_of(outcomes: Outcomes, reference: str | None) -> ParityReport:
    """Judge all programs against the reference; None if no program came to an end."""
    recipe = outcomes.contestants[outcomes.wanted].recipe
    results = outcomes.results
    entrants = {name: _entrant(outcomes, name) for name in outcomes.contestants}
    envelopes = {
        result.stage.name: stage_envelope(result, reference) if reference else None
        for result in results
    }
    pairs = tuple(
        _pair(outcomes, entrants[name], entrants[reference] if reference else None, envelopes)
        for name in outcomes.contestants
        if name != reference and len(outcomes.contestants) > 1
    )
    exercise = _exercised(outcomes, entrants[reference]) if reference else ()
    return ParityReport(
        recipe=recipe.name,
        check=outcomes.options.check,
        device=outcomes.options.device,
        threads=outcomes.options.threads,
        reference=reference,
        requested_reference=outcomes.wanted,
        entrants=tuple(entrants.values()),
        stages=tuple(_stage(outcomes, result, envelopes) for result in results),
        runs=tuple(finished.run for result in results for finished in result.finished.values()),
        pairs=pairs,
        stress=outcomes.stressed,
        left_out=(*_left_out(outcomes), *outcomes.scripts.notes),
        exercise=exercise,
        by_design=tuple(entry.field for entry in exercise if by_design(entry.field)),
    )


def _exercised(outcomes: Outcomes, reference: Entrant) -> tuple[FieldExercise, ...]:
    """Look at which fields the runs of the reference exercised: on the toy, too, if it passed."""
    passed = {
        result.stage.name: {c.result for c in reference.checks if c.stage == result.stage.name}
        for result in outcomes.results
    }
    toys = [r for r in outcomes.results if r.stage.toy and passed[r.stage.name] == {"pass"}]
    return fields_exercised(outcomes.results[0], reference.name, toys)


def _left_out(outcomes: Outcomes) -> list[str]:
    """Return the parts of any program's recipe that were not run, in words, each once."""
    words: list[str] = []
    for name, contestant in outcomes.contestants.items():
        trained = [result.recipes[name] for result in outcomes.results if not result.stage.toy]
        if not any(getattr(recipe.model, "dropout", 0.0) for recipe in trained):
            words += without_dropout(contestant.recipe)[1]
        words += comparable(contestant.recipe)[1]
    return list(dict.fromkeys(words))


def _entrant(outcomes: Outcomes, name: str) -> Entrant:
    contestant = outcomes.contestants[name]
    runs = [m for result in outcomes.results for m in result.all_of(name)]
    statuses = [m.run.outcome.status for m in runs if m.run.outcome.status]
    installed = dict(statuses[0].versions) if statuses else dict(versions(contestant.python))
    return Entrant(
        name=name,
        target=contestant.target,
        framework=contestant.framework,
        recipe=contestant.recipe.name,
        execution=outcomes.execution[name],
        script=_script(outcomes, contestant, runs[0]),
        device=statuses[0].device if statuses else "",
        versions=installed,
        checks=(
            *(c for result in outcomes.results for c in own_checks(result, name)),
            *outcomes.evaluations.get(name, ()),
        ),
    )


def _script(outcomes: Outcomes, contestant: Contestant, finished: FinishedRun) -> str:
    if contestant.stored:
        return contestant.stored.script
    script = outcomes.scripts.script(contestant, finished.spec)
    return script.name if contestant.own else folder_hash(script.parent)[:12]


def _stage(
    outcomes: Outcomes, result: StageResult, envelopes: Mapping[str, Envelope | None]
) -> StageRecord:
    recipe = result.recipes[outcomes.wanted]
    applied = {
        fault
        for finished in result.finished.values()
        for fault in applied_faults(finished.spec.faults, finished.run.rows, finished.injected)
    }
    weights = WEIGHTS if result.stage.toy else _weights(result)
    model = recipe.model
    size = f"{weights / 1e6:.2g} million weights" if weights >= 1e5 else f"{weights} weights"
    layers = f"{model.layers} layers" if isinstance(model, BertModel) else "custom model"
    subject = "the toy" if result.stage.toy else f"{layers}, {size}"
    return StageRecord(
        name=result.stage.name,
        title=f"{subject}, {recipe.precision.compute_dtype}, seed {recipe.seed}",
        dtype=recipe.precision.compute_dtype,
        windows=result.stage.windows,
        weights=weights,
        eval_rows=None if result.stage.toy else getattr(recipe.data, "eval_rows", None),
        faults=tuple(str(fault) for fault in result.faults if fault in applied),
        seed=result.stage.seed,
        envelope=envelopes[result.stage.name],
    )


def _weights(result: StageResult) -> int:
    return next(finished.spec.inputs.count for finished in result.finished.values())


def _pair(
    outcomes: Outcomes,
    entrant: Entrant,
    reference: Entrant | None,
    envelopes: Mapping[str, Envelope | None],
) -> Pair:
    runs = outcomes.runs(entrant.name)
    if reference is None:
        nothing = "no program finished that the others could be compared with"
        verdict, wording = conclude(entrant, entrant, entrant.checks, runs, ())
        if verdict in ("EQUIVALENT", "INCONCLUSIVE"):
            verdict, wording = "NOT TESTED", nothing
        return Pair(
            contestant=entrant.name,
            reference="-",
            verdict=verdict,
            wording=wording,
            checks=entrant.checks,
        )
    checks: list[Check] = list(entrant.checks)
    errors: dict[str, TensorErrors] = {}
    differences: list[Difference] = []
    for result in outcomes.results:
        name = result.stage.name
        compared, sizes, rows = pair_checks(result, entrant.name, reference.name, envelopes[name])
        checks += compared
        errors |= sizes
        differences += rows
    recipes = {name: contestant.recipe for name, contestant in outcomes.contestants.items()}
    trained = [result for result in outcomes.results if not result.stage.toy]
    checks += hidden_in(trained, recipes, entrant.name, reference.name)
    checks += seed_checks(outcomes.results, entrant.name, reference.name)
    verdict, wording = conclude(entrant, reference, checks, runs, outcomes.runs(reference.name))
    return Pair(
        contestant=entrant.name,
        reference=reference.name,
        verdict=verdict,
        wording=wording,
        checks=tuple(by_level(checks)),
        differences=tuple(differences),
        tensor_errors=errors,
    )
