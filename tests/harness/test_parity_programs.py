"""Programs that differ in more than their script: recipes, processes, what cannot be tested."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.recipe import rules
from crosscast.recipe.document import Recipe
from crosscast_parity.bisect.unobservable_fields import hidden_differences
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import RunSpec
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recipes.derived import tiny
from crosscast_parity.runs.work_queue import deal
from parity_fakes import make_recipe
from parity_lab import Lab, compile_fakes, contestants, pair

HALF = {"mode": "mixed", "compute_dtype": "float16"}


def compared(folder: Path, *recipes: Recipe, **options: Any) -> ParityReport:
    programs = [
        Contestant(name=name, target="fake-", recipe=recipe)
        for name, recipe in zip(("torch", "paddle"), recipes, strict=True)
    ]
    return compare(
        programs,
        options=make_options(folder, check="model", windows=24, **options),
        compile_to=compile_fakes,
    )


def test_a_difference_that_no_run_keeps_is_not_agreement(tmp_path: Path) -> None:
    report = compared(tmp_path, make_recipe(), make_recipe(model={"dropout": 0.5}))
    assert pair(report).verdict == "INCONCLUSIVE"
    assert "model.dropout" in pair(report).wording
    assert [words.partition(":")[0] for words in report.left_out] == ["model.dropout"]


def test_differences_are_hidden_only_if_no_stage_shows_them() -> None:
    first = make_recipe()
    other = make_recipe(model={"dropout": 0.5}, optimizer={"learning_rate": 0.1})
    without = make_recipe(optimizer={"learning_rate": 0.1})
    (check,) = hidden_differences(first, other, [(first, without)])
    assert check.result == "unclear"
    assert "model.dropout" in check.wording
    assert "learning_rate" not in check.wording
    assert hidden_differences(first, without, [(first, first), (first, without)]) == ()
    assert hidden_differences(first, first, [(first, first)]) == ()


def test_stress_is_passed_on_and_refused_where_it_makes_no_sense(tmp_path: Path) -> None:
    def refused(programs: list[Contestant], **options: Any) -> str:
        with pytest.raises(DiagnosticError) as caught:
            compare(
                programs,
                options=make_options(tmp_path, stress=True, **options),
                compile_to=compile_fakes,
            )
        return caught.value.diagnostics[0].code

    recipe, other = make_recipe(), make_recipe(optimizer={"learning_rate": 0.1})
    plain = contestants({"torch": "", "paddle": ""}, recipe)
    assert refused(plain, check="model") == "CC707"
    assert refused([plain[0], *contestants({"paddle": ""}, other)]) == "CC707"
    script = tmp_path / "train.py"
    script.touch()
    own = Contestant(name="own", target="none", recipe=recipe, script=script)
    assert refused([plain[0], own]) == "CC707"
    half = make_recipe(precision=HALF, model={"layers": 2})
    (stage,) = make_stages(half, "quick", windows=None, twins=3, stress=True)
    assert stage.stress
    assert stage.derive(half) != make_stages(half, "quick", windows=None, twins=3)[0].derive(half)


def test_a_program_that_takes_no_faults_is_not_equivalent_on_that_account(lab: Lab) -> None:
    # The function is called otherwise: there is nothing to wrap.
    report = lab.compare({"torch": "", "paddle": "no_seam"})
    assert pair(report).verdict == "NOT TESTED"
    assert "no overflow was tested" in pair(report).wording
    without = lab.compare({"torch": "", "paddle": "no_seam"}, faults=["none"])
    assert pair(without).verdict == "EQUIVALENT"


@dataclass
class Dealt:
    """A process that was dealt: its rank, and how many runs it makes."""

    name: str
    rank: int
    runs: int


class Work:
    def session(
        self, contestant: Contestant, name: str, runs: Any, *, emulate: bool, rank: int
    ) -> Dealt:
        return Dealt(name, rank, len(runs))


def asked(name: str, target: str, run: str = "main", cost: float = 1.0, **more: Any) -> Any:
    recipe = make_recipe()
    stage, record, repeat = more.pop("stage", "tiny"), more.pop("record", ()), more.pop("repeat", 0)
    program = Contestant(name=name, target=target, recipe=recipe, **more)
    spec = RunSpec(
        contestant=name,
        stage=stage,
        name=run,
        variant="main",
        recipe=recipe,
        inputs=None,  # type: ignore[arg-type]
        weights=Path("w"),
        windows=4,
        record=record,
        repeat=repeat,
    )
    made = type("Run", (), {"cost": cost})()
    return type("RunRequest", (), {"contestant": program, "spec": spec, "run": made})()


def dealt(wanted: list[Any], jobs: int = 2) -> list[Dealt]:
    execution = dict.fromkeys((request.contestant.name for request in wanted), "native")
    return deal(wanted, execution, Work(), jobs, "b")  # type: ignore[arg-type, return-value]


def test_programs_that_were_not_compiled_here_have_processes_of_their_own() -> None:
    wanted = [
        asked("a", "torch"),
        asked("b", "torch"),
        asked("own", "torch", script=Path("train.py")),
        asked("acc", "torch", adapter="accelerate"),
        asked("keras", "tensorflow", adapter="keras"),
    ]
    assert sorted(group.name.partition("-")[0] for group in dealt(wanted)) == [
        "acc",
        "keras",
        "own",
        "torch",
    ]


def test_processes_begin_first_that_the_first_finding_waits_for() -> None:
    wanted = [
        asked("a", "tensorflow", "float32-initial", record=(0, 1)),
        asked("d", "none", "float32-initial", record=(0, 1), cost=9.0),
        asked("a", "tensorflow", record=(0, 3), cost=40.0),
        asked("b", "torch", "gate", repeat=1),
        asked("b", "torch", cost=50.0),
        asked("c", "paddle", "float32-initial", record=(0, 1), stage="model"),
        asked("b", "torch", "twin-1", cost=30.0),
    ]
    ranks = {group.name.partition("-native")[0]: group.rank for group in dealt(wanted[:-1])}
    assert ranks == {"tensorflow": 1, "torch": 0, "paddle": 2, "d": 2}
    assert [group.rank for group in dealt(wanted) if "twins" in group.name] == [2]


def test_perturbed_runs_are_dealt_in_small_pieces() -> None:
    twins = [asked("b", "torch", f"twin-{n}", cost=15.0) for n in (1, 2, 3)]
    assert [group.runs for group in dealt(twins)] == [1, 1, 1]
    others = [asked("b", "torch", f"run-{n}", cost=15.0) for n in (1, 2, 3)]
    assert sorted(group.runs for group in dealt(others)) == [1, 2]
    assert [group.runs for group in dealt(others, jobs=1)] == [3]


def test_few_perturbed_runs_need_no_process_of_their_own() -> None:
    twins = [asked("b", "torch", f"twin-{n}", cost=1.5) for n in (1, 2, 3)]
    wanted = [asked("b", "torch", "main"), asked("a", "paddle", "main"), *twins]
    runs = {group.name.partition("-")[0]: group.runs for group in dealt(wanted)}
    assert runs == {"torch": 4, "paddle": 1}


def test_runs_are_dealt_to_more_processes_if_all_end_sooner() -> None:
    short = [asked("b", "torch", cost=16.0), asked("a", "paddle", cost=20.0)]
    long = [asked("c", "tensorflow", f"run-{n}", cost=10.0) for n in range(5)]
    groups = dealt([*short, *long])
    assert sorted(group.runs for group in groups if "tensorflow" in group.name) == [2, 3]
    # Each alone on a core, or all on one: then another process only costs its start.
    assert len(dealt([*short, *long], jobs=1)) == 3
    assert len(dealt([*short, *long[:2]], jobs=3)) == 3


@pytest.mark.parametrize("labels", [2, 5])
def test_the_small_model_fits_its_rows_whatever_the_recipe_trains_on(labels: int) -> None:
    data = {"source": "npz", "train": "a.npz", "eval": "b.npz"}
    document = make_recipe(precision=HALF, model={"labels": labels}).model_dump()
    recipe = Recipe.model_validate(document | {"data": data})
    for stress in (False, True):
        stage = make_stages(recipe, "quick", windows=None, twins=0, stress=stress)[0]
        small = stage.derive(recipe) if stress else tiny(recipe)
        errors = [d for d in rules.check(small) if d.severity is Severity.ERROR]
        assert errors == []


def test_seeds_of_a_check_stay_in_their_range() -> None:
    recipe = make_recipe(precision=HALF).model_copy(update={"seed": 2**31 - 1})
    for stage in make_stages(recipe, "full", windows=None, twins=0):
        assert 0 <= stage.derive(recipe).seed < 2**31


def test_a_reference_may_be_kept_alone(lab: Lab, tmp_path: Path) -> None:
    report = lab.compare({"torch": ""}, save_reference=tmp_path / "kept")
    assert {"twin-1", "twin-2", "twin-3"} <= {run.name for run in report.runs}


def test_a_bisection_looks_at_the_stage_that_fails(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": "late_growth"}, bisect=True, faults=["none"])
    assert "nothing to explain" not in report.bisections[0].wording
