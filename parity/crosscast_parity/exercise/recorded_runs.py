"""Compare the recorded runs of the reference with other recipes to find the exercised fields."""

from __future__ import annotations

from typing import Any

from crosscast.variations.table import shown_path
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.exercise.fields import exercise
from crosscast_parity.judge.judgement_data import FIELDS
from crosscast_parity.judge.records import FieldExercise
from crosscast_parity.planning.runs import VARIANTS
from crosscast_parity.runs.outcomes import FinishedRun, StageResult


def recorded_runs(result: StageResult, contestant: str) -> list[RecordedRun]:
    """Return the recorded runs of a program in a stage, without the perturbed ones."""
    return [_recorded_run(result, made) for made in _seen(result, contestant)]


def _seen(result: StageResult, contestant: str) -> list[FinishedRun]:
    return [
        made
        for made in result.all_of(contestant)
        if made.run.outcome.complete and not (made.spec.repeat or made.spec.alone)
    ]


def _recorded_run(result: StageResult, made: FinishedRun) -> RecordedRun:
    return RecordedRun(
        run=f"{made.spec.stage}/{made.spec.name}",
        recipe=made.spec.recipe,
        rows=made.run.rows,
        observation=result.observation(made) if made.spec.record else None,
        train_rows=result.train_rows(made),
        weights="stress" if made.spec.name.endswith("stress") else "bert",
        short=made.spec.starts and made.spec.autocast,
        emulated=made.run.execution == "emulated",
        derive=VARIANTS[made.spec.variant],
    )


def fields_exercised(result: StageResult, contestant: str) -> tuple[FieldExercise, ...]:
    """Return for every field that the recipe uses whether a wrong value would have been seen."""
    recipe, seen = result.recipes[contestant], _seen(result, contestant)
    given = {"recipe": recipe, "runs": [_given(result, made) for made in seen]}
    folders = [made.folder for made in seen]

    def judged() -> tuple[FieldExercise, ...]:
        return tuple(
            FieldExercise(
                field=shown_path(entry.path),
                exercised=entry.status == "exercised",
                why=entry.wording,
            )
            for entry in exercise(recipe, recorded_runs(result, contestant))
            if entry.status != "not used"
        )

    return result.judgements.recall(FIELDS, "exercise", folders, given, judged)


def _given(result: StageResult, made: FinishedRun) -> list[Any]:
    """Return the inputs of a recorded run other than its files."""
    spec = made.spec
    rows, execution = result.train_rows(made), made.run.execution
    return [spec.stage, spec.name, spec.variant, spec.recipe, spec.record, rows, execution]
