"""What acts late is seen, on the toy and in long runs; what means the same is not accused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import make_stages, own_toy_stage, toy_stages
from crosscast_parity.recipes.derived import changed
from crosscast_parity.self_test.mutation import Mutation
from mutants.emitted import compile_to
from mutants.rewrites import REWRITES
from mutants.shared_late import CAUSES
from mutants.trials import Plant, load_recipe
from tiers import cases, exhaustive

FRAMEWORKS = ("torch", "tensorflow", "paddle")
GRID = "gradient grid of later windows"
BUGS = ("late_frozen", "late_skip")


def on_toy(
    folder: Path, framework: str, edits: Sequence[Mutation], recipe: Recipe | None = None
) -> ParityReport:
    """Let the script of a framework train the toy as it is, and with every edit."""
    return compared(folder, framework, edits, recipe or load_recipe(), toy_stages())


def compared(
    folder: Path,
    framework: str,
    edits: Sequence[Mutation],
    recipe: Recipe,
    stages: Sequence[Stage],
) -> ParityReport:
    """Let the script of a framework train as it is, and with every edit."""
    plants = [Plant(edit) for edit in edits]
    clean = Contestant(name="clean", target=framework, recipe=recipe)
    edited = [
        Contestant(name=p.bug.name, target=framework, recipe=recipe, edits=(p,)) for p in plants
    ]
    report = compare(
        [clean, *edited],
        options=make_options(folder, reference="clean", jobs=1),
        compile_to=compile_to,
        stages=stages,
    )
    assert all(plant.planted for plant in plants)
    return report


def failing(report: ParityReport, name: str) -> list[Check]:
    return [check for check in report.entrant(name).checks if check.result == "fail"]


@pytest.mark.parametrize(
    "framework",
    cases(FRAMEWORKS, quick=[], reason="`make test` has one in the longest run"),
)
def test_a_late_bug_is_seen(tmp_path: Path, framework: str) -> None:
    bugs = {bug.name: bug for bug in import_module(f"mutants.{framework}_late").LATE}
    report = on_toy(tmp_path, framework, [bugs["late_frozen"]])
    assert {check.result for check in report.entrant("clean").checks} == {"pass"}
    first = failing(report, "late_frozen")[0]
    assert (first.level, first.window) == ("L1b", 11)
    assert first.wording.endswith("; fits kernel at rest, from window 11 on")


@exhaustive("the causes of all late bugs")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_late_bugs_get_their_causes(tmp_path: Path, framework: str) -> None:
    late = import_module(f"mutants.{framework}_late").LATE
    bugs = [bug for bug in late if bug.name in CAUSES]
    report = on_toy(tmp_path, framework, bugs)
    assert len(bugs) == len(CAUSES)
    for bug in bugs:
        cause = failing(report, bug.name)[0].wording.partition("; ")[2]
        assert cause.startswith(CAUSES[bug.name]), (bug.name, cause)


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="late bugs in runs without the toy")
)
def test_a_late_bug_is_seen_in_the_longest_run(tmp_path: Path, framework: str) -> None:
    """One acts in the last window alone, of which nothing is left but the weights."""
    bugs = {bug.name: bug for bug in import_module(f"mutants.{framework}_late").LATE}
    recipe = load_recipe()
    tiny = make_stages(recipe, "quick", windows=None, twins=0, stress=True)[0]
    stage = replace(tiny, parts=frozenset({"trajectory"}))
    planted = [bugs["late_frozen"], bugs["late_last"], bugs["late_float32"]]
    report = compared(tmp_path, framework, planted, recipe, [stage])
    assert failing(report, "clean") == []
    passed = {(c.level, c.name) for c in report.entrant("clean").checks if c.result == "pass"}
    assert {("L1b", "update"), ("L1b", "applied gradients"), ("L1d", "weights file")} <= passed
    assert ("L0d", GRID) in passed
    frozen, last, single = (failing(report, bug.name)[0] for bug in planted)
    assert (frozen.level, frozen.name) == ("L1b", "update")
    assert (last.level, last.name, last.window) == ("L1b", "update", stage.windows - 1)
    assert (single.level, single.name) == ("L0d", GRID)


@exhaustive("more late bugs, and equivalent rewrites")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_late_bugs_are_seen_and_rewrites_are_not(tmp_path: Path, framework: str) -> None:
    bugs = {bug.name: bug for bug in import_module(f"mutants.{framework}_late").LATE}
    rewrites = REWRITES[framework]
    report = on_toy(tmp_path, framework, [*(bugs[name] for name in BUGS), *rewrites])
    for name in ("clean", *(rewrite.name for rewrite in rewrites)):
        results = {check.result for check in report.entrant(name).checks}
        assert results == {"pass"}, (name, report.entrant(name).checks)
    frozen, skips = (failing(report, name)[0] for name in BUGS)
    assert (frozen.level, frozen.window) == ("L1b", 11)
    assert frozen.wording.startswith("window 11: parameters/kernel[0, 0] is ")
    assert skips.level == "L0b"
    assert ": updates is " in skips.wording
    for name in BUGS:
        pair = next(pair for pair in report.pairs if pair.contestant == name)
        assert pair.verdict == "DIFFERENT"


@exhaustive("averages that stop late")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_averages_that_stop_are_seen(tmp_path: Path, framework: str) -> None:
    groups = ({"parameters": ("classifier.*",), "weight_decay": 0.0, "rate_factor": 2.0},)
    recipe = changed(load_recipe(), {"ema.decay": 0.9, "optimizer.groups": groups})
    bugs = {bug.name: bug for bug in import_module(f"mutants.{framework}_late").LATE}
    report = on_toy(tmp_path, framework, [bugs["late_averages"]], recipe)
    assert {check.result for check in report.entrant("clean").checks} == {"pass"}
    first = failing(report, "late_averages")[0]
    assert first.level == "L1b"
    assert ": ema/" in first.wording


@exhaustive("your own scripts")
def test_a_script_of_ones_own_is_driven_if_it_was_emitted(tmp_path: Path) -> None:
    recipe = load_recipe()
    compile_to(recipe, ("torch",), tmp_path / "own")
    script = tmp_path / "own" / "torch" / "train.py"
    text = script.read_text()
    edited = script.with_name("edited.py")
    late = "    if state.windows == 100:\n        state.updates += 1\n"
    row = '    return {\n        "window"'
    edited.write_text(text.replace(row, late + row))
    other = script.with_name("other.py")
    other.write_text(
        text.replace("def make_state(", "def prepare(").replace(" make_state(", " prepare(")
    )
    report = compare(
        [
            Contestant(name="torch", target="torch", recipe=recipe),
            Contestant(name="edited", target="torch", recipe=recipe, script=edited),
            Contestant(name="other", target="torch", recipe=recipe, script=other),
        ],
        options=make_options(tmp_path / "work", jobs=1),
        compile_to=compile_to,
        stages=[own_toy_stage(recipe)],
    )
    assert {check.result for check in report.entrant("torch").checks} == {"pass"}
    assert failing(report, "edited")[0].wording.startswith("window 99: updates is ")
    untested = report.entrant("other").checks
    assert {check.result for check in untested} == {"not tested"}
    assert untested[0].wording == "the toy needs make_state in the script"
