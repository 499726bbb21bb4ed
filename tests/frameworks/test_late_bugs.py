"""What acts late is seen, on the toy and in long runs; what means the same is not accused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

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
from mutants.spelling import written
from mutants.trials import Plant, load_recipe
from tiers import cases, exhaustive

FRAMEWORKS = ("torch", "tensorflow", "paddle")
GRID = "gradient grid of later windows"


class OnToy(NamedTuple):
    """The report of a framework's edited scripts, and the edits that mean the same."""

    report: ParityReport
    rewrites: tuple[str, ...]


def compared(
    folder: Path, framework: str, edits: Sequence[Mutation], recipe: Recipe, stages: Sequence[Stage]
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


def late_bugs(framework: str) -> dict[str, Mutation]:
    return {bug.name: bug for bug in written(import_module(f"mutants.{framework}_late").LATE)}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def on_toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OnToy:
    """What the toy says of a framework's script: as it is, with late bugs, rewritten."""
    folder, framework = tmp_path_factory.mktemp(request.param), request.param
    late, rewrites = late_bugs(framework), REWRITES[framework]
    bugs = [late[name] for name in CAUSES]
    edits = [*bugs, *rewrites]
    report = compared(folder, framework, edits, load_recipe(), toy_stages())
    return OnToy(report, tuple(rewrite.name for rewrite in rewrites))


@exhaustive("late bugs on the toy; with stand-ins in `make test`")
def test_a_late_bug_is_seen(on_toy: OnToy) -> None:
    frozen, skips = (failing(on_toy.report, name)[0] for name in ("late_frozen", "late_skip"))
    assert (frozen.level, frozen.window) == ("L1b", 11)
    assert frozen.wording.startswith("window 11: parameters/kernel[0, 0] is ")
    assert frozen.wording.endswith("; fits kernel at rest, from window 11 on")
    assert skips.level == "L0b"
    assert ": updates is " in skips.wording


@exhaustive("the causes of all late bugs")
def test_late_bugs_get_their_causes(on_toy: OnToy) -> None:
    for name, expected in CAUSES.items():
        cause = failing(on_toy.report, name)[0].wording.partition("; ")[2]
        assert cause.startswith(expected), (name, cause)
        pair = next(pair for pair in on_toy.report.pairs if pair.contestant == name)
        assert pair.verdict == "DIFFERENT"


@exhaustive("equivalent rewrites on the toy")
def test_what_means_the_same_is_not_accused(on_toy: OnToy) -> None:
    for name in ("clean", *on_toy.rewrites):
        checks = on_toy.report.entrant(name).checks
        assert {check.result for check in checks} == {"pass"}, (name, checks)


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=[], reason="late bugs; with stand-ins in `make test`")
)
def test_a_late_bug_is_seen_in_the_longest_run(tmp_path: Path, framework: str) -> None:
    """One acts in the last window alone, of which nothing is left but the weights."""
    bugs = late_bugs(framework)
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


@exhaustive("averages that stop late")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_averages_that_stop_are_seen(tmp_path: Path, framework: str) -> None:
    groups = ({"parameters": ("classifier.*",), "weight_decay": 0.0, "rate_factor": 2.0},)
    recipe = changed(load_recipe(), {"ema.decay": 0.9, "optimizer.groups": groups})
    bug = late_bugs(framework)["late_averages"]
    report = compared(tmp_path, framework, [bug], recipe, toy_stages())
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
