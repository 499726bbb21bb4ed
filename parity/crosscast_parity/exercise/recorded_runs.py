"""Compare the recorded runs of a program with other recipes: which fields were exercised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscast.variations.table import shown_path
from crosscast_parity.evidence.recorded_run import Judge, RecordedRun
from crosscast_parity.exercise.fields import exercise
from crosscast_parity.judge.judgement_data import FIELDS
from crosscast_parity.judge.records import FieldExercise
from crosscast_parity.planning.runs import VARIANTS
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.toy.checks import read_steps
from crosscast_parity.toy.compare import Seen
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.judging import ToyRecord
from crosscast_parity.toy.model import Toy, make_toy


def recorded_runs(result: StageResult, contestant: str) -> list[RecordedRun]:
    """Return the recorded runs of a program in a stage, without the perturbed ones."""
    if result.stage.toy:
        runs = _compared_runs(result, contestant)
        return [_toy_run(run, _record(result, run).whole) for run in runs]
    return [_recorded_run(result, runs) for runs in _compared_runs(result, contestant)]


def _compared_runs(result: StageResult, contestant: str) -> list[FinishedRun]:
    return [
        finished
        for finished in result.all_of(contestant)
        if finished.run.outcome.complete and not (finished.spec.repeat or finished.spec.alone)
    ]


def _recorded_run(result: StageResult, finished: FinishedRun) -> RecordedRun:
    return RecordedRun(
        run=f"{finished.spec.stage}/{finished.spec.name}",
        recipe=finished.spec.recipe,
        rows=finished.run.rows,
        observation=result.observation(finished) if finished.spec.record else None,
        train_rows=result.train_rows(finished),
        weights="stress" if finished.spec.name.endswith("stress") else "initial",
        short=finished.spec.starts and finished.spec.autocast,
        emulated=finished.run.execution == "emulated",
        derive=VARIANTS[finished.spec.variant],
    )


def _toy_run(finished: FinishedRun, toy: Judge) -> RecordedRun:
    return RecordedRun(
        run=f"{finished.spec.stage}/{finished.spec.name}",
        recipe=finished.spec.recipe,
        rows=finished.run.rows,
        compared=False,
        toy=toy,
    )


def _record(result: StageResult, finished: FinishedRun) -> ToyRecord:
    recipe = finished.spec.recipe

    def load() -> tuple[Toy, Seen]:
        return make_toy(recipe, course_of(recipe, result.stage)), read_steps(finished.folder)

    return ToyRecord(recipe, result.frameworks[finished.spec.contestant], load)


def fields_exercised(
    result: StageResult, contestant: str, toys: Sequence[StageResult] = ()
) -> tuple[FieldExercise, ...]:
    """Return for every field that the recipe uses whether a wrong value would have been seen.

    Args:
        result: of the stage whose recipe it is.
        contestant: a program that passes its own checks.
        toys: stages in which it trained the toy, and passed.
    """
    recipe = result.recipes[contestant]
    seen = [
        (stage, finished)
        for stage in (result, *toys)
        for finished in _compared_runs(stage, contestant)
    ]
    inputs = result.judgement_inputs(
        recipe=recipe, runs=[_other_inputs(stage, finished) for stage, finished in seen]
    )
    folders = [finished.folder for _, finished in seen]

    def judged() -> tuple[FieldExercise, ...]:
        on_toy = [
            _toy_run(finished, _record(stage, finished).sampled)
            for stage, finished in seen
            if stage.stage.toy
        ]
        return tuple(
            FieldExercise(
                field=shown_path(entry.path),
                exercised=entry.status == "exercised",
                why=entry.wording,
            )
            for entry in exercise(recipe, [*recorded_runs(result, contestant), *on_toy])
            if entry.status != "not used"
        )

    return result.judgements.recall(FIELDS, "exercise", folders, inputs, judged)


def _other_inputs(result: StageResult, finished: FinishedRun) -> list[Any]:
    """Return the inputs of a recorded run other than its files."""
    spec = finished.spec
    rows = None if result.stage.toy else result.train_rows(finished)
    execution = finished.run.execution
    windows = result.stage.windows
    return [spec.stage, windows, spec.name, spec.variant, spec.recipe, spec.record, rows, execution]
