"""What a run on the toy adds to the fields that a comparison exercises, and to a bisection."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Ema, Plan, Schedule, Step
from crosscast.recipe.document import Recipe
from crosscast.variations.table import variations, vary
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.script_cause import bisect_script
from crosscast_parity.compare.bisection import _stage_of
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.exercise.fields import Exercise, exercise
from crosscast_parity.exercise.recorded_runs import fields_exercised
from crosscast_parity.exercise.recorded_runs import recorded_runs as recorded_runs_of
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.judge.records import Run
from crosscast_parity.planning.runs import STEPS, RunSpec
from crosscast_parity.planning.stages import make_stages, toy_stages
from crosscast_parity.processes.process import Outcome
from crosscast_parity.recipes.derived import changed, tiny
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.toy.judging import ToyRecord
from mutants.trials import load_recipe
from observed_runs import recorded_runs
from parity_recipes import plain
from parity_reports import check
from tiers import exhaustive
from toy_runs import ToyTrained, toy_trained, with_op, write_steps


def record(run: ToyTrained) -> ToyRecord:
    return ToyRecord(run.recipe, "torch", lambda: (run.toy, run.seen))


def recorded(run: ToyTrained, *, whole: bool = False) -> RecordedRun:
    held = record(run)
    return RecordedRun(
        run="toy/steps",
        recipe=run.recipe,
        rows=trace(run),
        compared=False,
        toy=held.whole if whole else held.sampled,
    )


def trace(run: ToyTrained) -> tuple[TraceRow, ...]:
    names = [name for name in run.seen.rows[0] if name != "tokens"]
    rows = [{name: row[name] for name in names} for row in run.seen.rows]
    return tuple(
        TraceRow(**{**row, "grad_norm": None if row["skipped"] else row["grad_norm"]})
        for row in rows
    )


def stage_result(run: ToyTrained, folder: Path) -> StageResult:
    """What a comparison has of a script that trained the toy of the recipe's own values."""
    write_steps(run.seen, folder)
    stage = toy_stages()[0]
    spec = RunSpec(
        contestant="torch",
        stage=stage.name,
        name=STEPS,
        variant="main",
        recipe=run.recipe,
        inputs=Inputs.of_toy(folder / "toy.npz"),
        weights=folder / "toy.npz",
        windows=stage.windows,
        toy=True,
    )
    made = Run(
        contestant="torch",
        stage=stage.name,
        name=STEPS,
        outcome=Outcome(kind="finished"),
        rows=trace(run),
    )
    result = StageResult(stage, {"torch": run.recipe}, (), {"torch": "torch"})
    result.finished["torch", STEPS] = FinishedRun(spec=spec, run=made, folder=folder)
    return result


@cache
def usual() -> Recipe:
    return changed(tiny(plain()), {"schedule.total_steps": 64, "schedule.warmup_steps": 6})


@cache
def fields(*, toy: bool) -> dict[str, Exercise]:
    """Of a usual recipe whose runs do not overflow, without the toy and with it."""
    runs = recorded_runs(usual(), ())
    more = [recorded(toy_trained(usual(), active=active)) for active in (False, True)]
    return {found.path: found for found in exercise(usual(), [*runs, *(more if toy else ())])}


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("schedule.tick", "L0b"),
        ("loss_scaling.backoff_factor", "L0b"),
        ("loss_scaling.hysteresis", "L0b"),
    ],
)
def test_what_only_the_toy_shows_is_exercised(path: str, level: str) -> None:
    assert fields(toy=False)[path].status == "not exercised"
    found = fields(toy=True)[path]
    assert (found.status, found.level, found.run) == ("exercised", level, "toy/steps")


def test_nothing_is_lost_and_what_the_toy_does_not_decide_stays_unexercised() -> None:
    before, after = fields(toy=False), fields(toy=True)
    assert before.keys() == after.keys()
    for path, found in before.items():
        if found.status != "not exercised":
            assert after[path] == found
    for path in ("loss_scaling.growth_interval", "model.init_std", "precision.ops.embeddings"):
        # The scale of the toy that grows has another interval than this recipe.
        assert after[path].status == "not exercised"


@cache
def of_the_toy() -> dict[str, Exercise]:
    """What a run on the toy alone exercises."""
    run = recorded(toy_trained(load_recipe()))
    return {entry.path: entry for entry in exercise(run.recipe, [run])}


@pytest.mark.parametrize("path", ["optimizer.betas.0", "ema.decay", "clipping.kind"])
def test_the_tensors_of_the_toy_show_what_was_not_recorded(path: str) -> None:
    found = of_the_toy()[path]
    assert (found.status, found.level) == ("exercised", "L1b")
    assert found.wording.startswith("L1b tensors of the toy of toy/steps: ")


def test_the_sample_passes_its_own_recipe_and_accuses_none_that_the_whole_run_does_not() -> None:
    held = record(toy_trained(load_recipe()))
    assert {check.result for check in held.sampled(held.recipe)} == {"pass"}
    assert {check.result for check in held.whole(held.recipe)} == {"pass"}
    paths = (
        "optimizer.eps",
        "optimizer.no_decay",
        "ema.decay",
        "accumulation.tail",
        "clipping.eps",
    )
    for path in paths:
        for variation in variations(held.recipe, path):
            if "fail" in {check.result for check in held.sampled(variation.recipe)}:
                whole = {check.result for check in held.whole(variation.recipe)}
                assert "fail" in whole, str(variation)


def test_a_run_that_differs_is_explained_by_the_recipe_that_it_follows() -> None:
    recipe = load_recipe()
    other = vary(recipe, "optimizer.betas.1", 0.98)
    assert other is not None
    betas = canonical_plan(other.recipe).find(Step)
    assert betas is not None
    run = toy_trained(recipe, steps=lambda plan, n: with_op(plan, Step, betas=betas.betas))
    runs = RecordedRuns(run.recipe, (recorded(run, whole=True),))
    found = bisect_script(runs)
    assert found.outcome == "explained"
    assert found.fields == ("optimizer.betas[1]",)
    assert "L1b tensors of the toy: windows that differ 25" in found.sentence


@exhaustive("a search of all recipes, in vain")
def test_a_run_that_differs_late_is_explained_by_no_recipe() -> None:
    def stops(plan: Plan, number: int) -> Plan:
        return with_op(plan, Ema, decay=1.0) if number >= 30 else plan

    run = toy_trained(load_recipe(), steps=stops)
    runs = RecordedRuns(run.recipe, (recorded(run, whole=True),))
    found = bisect_script(runs)
    assert found.outcome == "not explained"


def test_a_report_counts_what_the_toy_shows(tmp_path: Path) -> None:
    run = toy_trained(load_recipe())
    toy = stage_result(run, tmp_path)
    small = make_stages(run.recipe, "quick", windows=None, twins=0)[0]
    bare = StageResult(small, {"torch": run.recipe}, (), {"torch": "torch"})

    def exercised(*toys: StageResult) -> set[str]:
        found = fields_exercised(bare, "torch", toys)
        return {entry.field for entry in found if entry.exercised}

    paths = {"optimizer.betas[0]", "ema.decay", "schedule.tick", "loss_scaling.backoff_factor"}
    assert not exercised() & paths
    assert exercised(toy) >= paths


def test_a_bisection_begins_on_the_toy_where_nothing_else_differs(tmp_path: Path) -> None:
    recipe = load_recipe()
    run = toy_trained(recipe, steps=lambda plan, n: with_op(plan, Schedule, end_lr=1e-6))
    toy = stage_result(run, tmp_path)
    small = make_stages(run.recipe, "quick", windows=None, twins=0)[0]
    other = StageResult(small, {"torch": run.recipe}, (), {"torch": "torch"})
    outcomes: Any = SimpleNamespace(results=[other, toy])

    def pair(*stages: str) -> Any:
        return SimpleNamespace(
            checks=[check("L1b", "update", 2.0, 1.0, "", stage=stage) for stage in stages]
        )

    assert _stage_of(outcomes, pair("toy")) is toy
    assert _stage_of(outcomes, pair("toy", small.name)) is other
    assert _stage_of(outcomes, pair()) is other
    found = bisect_script(RecordedRuns(run.recipe, tuple(recorded_runs_of(toy, "torch"))))
    assert found.fields == ("schedule.end_lr",)
