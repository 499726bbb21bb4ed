"""Runs with injected overflows: how much is recorded, and whether the overflows were met."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.recipe.document import Recipe
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.inside.inject import LAST, Fault
from crosscast_parity.levels.machine import check_faults
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.runs import LARGE, RECORDED_LATE, RunSpec, plain_runs
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recipes.derived import weights_of
from parity_fakes import good_rows, make_recipe

HALF = {"mode": "mixed", "compute_dtype": "float16"}
MODEL = {
    "layers": 4,
    "hidden_size": 256,
    "attention_heads": 4,
    "intermediate_size": 1024,
    "vocab_size": 8000,
}


@pytest.mark.parametrize(
    "windows", [(2, 3, 6), (0,), (0, 2, 3, 14, 15), (2, 3, 4, 5, 6, 7), (9,), (30,)]
)
def test_of_the_run_with_faults_a_skip_the_update_after_it_and_the_end_are_recorded(
    windows: tuple[int, ...],
) -> None:
    spec = faulty_run(make_recipe(precision=HALF), windows)
    assert len(spec.record) <= RECORDED_LATE
    assert {0, windows[-1], windows[-1] + 1, spec.windows - 1} <= set(spec.record)


def test_of_a_large_model_the_run_with_faults_is_not_recorded() -> None:
    recipe = make_recipe(precision=HALF, model=MODEL)
    assert weights_of(recipe) >= LARGE
    assert faulty_run(recipe, (2,)).record == ()


def faulty_run(recipe: Recipe, windows: tuple[int, ...]) -> RunSpec:
    (stage,) = make_stages(recipe, "model", windows=None, twins=0)
    faults = tuple(Fault(window, 0, "inf") for window in windows)
    contestant = Contestant(name="torch", target="torch", recipe=recipe)
    inputs = Inputs(
        train=Path("train"),
        brief=Path("brief"),
        eval=Path("eval"),
        few=Path("few"),
        held=Path("held"),
        weights=Path("bert"),
        stress=Path("stress"),
        twins=(),
    )
    specs = plain_runs(contestant, recipe, stage, inputs, faults, emulated=True)
    (found,) = [spec for spec in specs if spec.name == "faults"]
    return found


def test_poisoned_windows_must_be_skipped() -> None:
    faults = (Fault(2, 0, "inf"), Fault(5, 1, "nan"))
    (found,) = check_faults(faults, good_rows(skipped=[2, 5]))
    assert found.result == "pass"
    (missed,) = check_faults(faults, good_rows(skipped=[2]))
    assert (missed.result, missed.window) == ("fail", 5)


def test_planned_faults_that_hit_nothing_are_told() -> None:
    beside = (Fault(99, 0, "inf"), Fault(3, 7, "inf"))
    none, left = check_faults(beside, good_rows())
    assert (none.result, left.result) == ("unclear", "not tested")
    assert left.wording == "no micro-batch was met by 99:0=inf, 3:7=inf"
    hit, left = check_faults((Fault(2, LAST, "inf"), beside[1]), good_rows(skipped=[2]))
    assert (hit.result, left.wording) == ("pass", "no micro-batch was met by 3:7=inf")
    unseen, left = check_faults((Fault(2, 0, "inf"),), good_rows(skipped=[2]), ())
    assert (unseen.result, left.wording) == ("unclear", "no micro-batch was met by 2:0=inf")
