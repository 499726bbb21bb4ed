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
        made = _seen(result, contestant)
        return [_toy_run(run, _record(result, run).whole) for run in made]
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
        weights="stress" if made.spec.name.endswith("stress") else "initial",
        short=made.spec.starts and made.spec.autocast,
        emulated=made.run.execution == "emulated",
        derive=VARIANTS[made.spec.variant],
    )


def _toy_run(made: FinishedRun, toy: Judge) -> RecordedRun:
    return RecordedRun(
        run=f"{made.spec.stage}/{made.spec.name}",
        recipe=made.spec.recipe,
        rows=made.run.rows,
        compared=False,
        toy=toy,
    )


def _record(result: StageResult, made: FinishedRun) -> ToyRecord:
    recipe = made.spec.recipe

    def load() -> tuple[Toy, Seen]:
        return make_toy(recipe, course_of(recipe, result.stage)), read_steps(made.folder)

    return ToyRecord(recipe, result.frameworks[made.spec.contestant], load)


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
    seen = [(stage, made) for stage in (result, *toys) for made in _seen(stage, contestant)]
    given = result.given(recipe=recipe, runs=[_given(stage, made) for stage, made in seen])
    folders = [made.folder for _, made in seen]

    def judged() -> tuple[FieldExercise, ...]:
        on_toy = [
            _toy_run(made, _record(stage, made).sampled) for stage, made in seen if stage.stage.toy
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

    return result.judgements.recall(FIELDS, "exercise", folders, given, judged)


def _given(result: StageResult, made: FinishedRun) -> list[Any]:
    """Return the inputs of a recorded run other than its files."""
    spec = made.spec
    rows = None if result.stage.toy else result.train_rows(made)
    execution = made.run.execution
    windows = result.stage.windows
    return [spec.stage, windows, spec.name, spec.variant, spec.recipe, spec.record, rows, execution]
