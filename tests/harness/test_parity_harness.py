"""The harness from end to end, on NumPy scripts that keep the emitted scripts' contract."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.compare.harness import compare
from crosscast_parity.inputs.shared import Inputs, write_inputs
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.half_precision import choose_execution
from crosscast_parity.planning.options import make_options
from crosscast_parity.runs import workspace
from parity_fakes import make_recipe
from parity_lab import Lab, compile_fakes, contestants, failed, names, pair, run


def test_equal_and_nearly_equal_programs_are_equivalent(lab: Lab) -> None:
    report = lab.compare({"torch": "", "tensorflow": "noise", "paddle": ""}, faults=["none"])
    assert report.reference == "torch"
    assert [p.verdict for p in report.pairs] == ["EQUIVALENT", "EQUIVALENT"]
    noisy, same = pair(report, "tensorflow"), pair(report)
    assert "over 24 windows" in noisy.wording
    by_name = {check.name: check for check in noisy.checks}
    assert by_name["trajectory"].value
    assert {c.name: c for c in same.checks}["trajectory"].value == 0
    envelope = report.stages[0].envelope
    assert envelope is not None
    assert envelope.twins == 3
    assert envelope.spread[-1] > 0  # the twins were perturbed


def test_what_is_not_recorded_is_said(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, faults=["none"], twins=3)
    untested = {check.level for check in pair(report).checks if check.result == "not tested"}
    assert {"L0d", "L1b"} <= untested
    assert "not tested: L0b trace of the toy, L0d, L1b, " in pair(report).wording


def test_twins_beside_the_targets_say_the_same_as_after_them(own_lab: Lab) -> None:
    bugs, one, two = {"torch": "", "paddle": ""}, own_lab.folder / "one", own_lab.folder / "two"
    after = own_lab.compare(bugs, faults=["none"], twins=1, jobs=1, cache=one)
    beside = own_lab.compare(bugs, faults=["none"], twins=1, jobs=2, cache=two)
    assert after.stages == beside.stages
    assert after.pairs == beside.pairs
    assert [run.title for run in after.runs] == [run.title for run in beside.runs]


def test_rows_and_weights_are_written_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    written: Counter[Path] = Counter()

    def noted(recipe: Recipe, folder: Path, twins: int) -> Inputs:
        written[folder] += 1
        return write_inputs(recipe, folder, twins)

    monkeypatch.setattr(workspace, "write_inputs", noted)
    lab.compare({"torch": "", "paddle": ""}, twins=2)
    assert written == {lab.folder / "inputs" / "model": 1}


def test_faults_are_injected_and_skipped(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, faults=["2:1=inf", "5:0=nan"], twins=3)
    rows = run(report, "paddle", "faults").rows
    assert [row.window for row in rows if row.skipped] == [2, 5]
    assert [row.window for row in rows if row.loss is None] == [2, 5]
    assert [row.scale for row in rows[:7]] == [1024.0] * 3 + [512.0] * 3 + [256.0]
    assert all(not row.skipped for row in run(report, "paddle").rows)
    assert pair(report).verdict == "EQUIVALENT"


def test_faults_are_chosen_by_default(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""})
    assert report.stages[0].faults == ("2:0=inf", "3:last=nan", "6:last=inf")
    # Window 6 is short: its last micro-batch is the first.
    assert [r.window for r in run(report, "torch", "faults").rows if r.skipped] == [2, 3, 6]
    assert pair(report).verdict == "EQUIVALENT"


PLANTED = {
    "late_growth": {"scale"},
    "tick_on_skip": {"learning rate"},
    "no_skip": {"poisoned windows skipped", "skipped", "skip decision"},
    "tail_dropped": {"rows", "micro-batches", "rows of a window"},
    "one_loss": {"trajectory"},
    "unsteady": {"traces"},
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, made: Path) -> ParityReport:
    """One comparison of a right program with one for every bug."""
    lab = Lab(tmp_path_factory.mktemp("planted"), made)
    return lab.compare({"torch": ""} | {bug: bug for bug in PLANTED}, faults=["2:0=inf"])


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_is_different_and_named(planted: ParityReport, bug: str) -> None:
    found = pair(planted, bug)
    assert found.verdict == "DIFFERENT"
    assert PLANTED[bug] <= failed(found)
    if bug not in ("one_loss", "unsteady"):
        assert found.differences


def test_a_wrong_reference_is_named(lab: Lab) -> None:
    report = lab.compare({"torch": "late_growth", "paddle": "late_growth"}, faults=["none"])
    assert pair(report).verdict == "DIFFERENT"
    assert "L0b scale" in pair(report).wording


def test_without_scaling_nothing_is_injected(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, scaled=False, twins=3)
    assert report.stages[0].faults == ()
    assert "faults" not in names(report)
    assert pair(report).verdict == "EQUIVALENT"


def test_few_windows_are_inconclusive(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, windows=10, faults=["none"])
    assert pair(report).verdict == "INCONCLUSIVE"
    assert "at least 20" in pair(report).wording


BROKEN = {
    "crash": ("ERROR", "SIGABRT"),
    "garbage": ("ERROR", "status.json is not JSON"),
    "missing": ("NOT TESTED", "torch_of_nobody is not installed"),
    "cannot_run": ("NOT TESTED", "AMP is not native here"),
}


def test_broken_targets_leave_the_others_compared(lab: Lab) -> None:
    bugs = {"torch": "", **{bug: bug for bug in BROKEN}, "paddle": ""}
    report = lab.compare(bugs, faults=["none"], jobs=3)
    for bug, (verdict, words) in BROKEN.items():
        broken = pair(report, bug)
        assert broken.verdict == verdict
        assert words in broken.wording
    assert pair(report).verdict == "EQUIVALENT"
    assert len(run(report, "crash").rows) == 8
    # The process that died was not the last: the runs after it were made by others.
    assert run(report, "crash", "gate").outcome.complete


def test_a_target_that_hangs_leaves_the_others_compared(lab: Lab) -> None:
    bugs = {"torch": "", "tensorflow": "hang", "paddle": ""}
    report = lab.compare(bugs, faults=["none"], jobs=3, timeout=2.0)
    broken = pair(report, "tensorflow")
    assert broken.verdict == "ERROR"
    assert "killed after 2 s, last window 3" in broken.wording
    assert pair(report).verdict == "EQUIVALENT"


def test_another_reference_is_taken_when_the_wanted_one_fails(lab: Lab) -> None:
    report = lab.compare({"torch": "crash", "tensorflow": "", "paddle": ""}, faults=["none"])
    assert (report.reference, report.requested_reference) == ("tensorflow", "torch")
    assert pair(report, "torch").verdict == "ERROR"
    assert pair(report).verdict == "EQUIVALENT"
    twins = {r.contestant for r in report.runs if r.name.startswith("twin-")}
    assert "tensorflow" in twins


def test_a_program_over_its_memory_is_stopped(lab: Lab) -> None:
    report = lab.compare(
        {"torch": "", "paddle": "greedy"}, faults=["none"], memory=0.3, twins=0, jobs=2
    )
    assert pair(report).verdict == "ERROR"
    assert "more than 0.3 GiB" in pair(report).wording
    assert run(report, "torch").outcome.complete


def refused(recipe: Recipe, folder: Path, **options: Any) -> str:
    with pytest.raises(DiagnosticError) as caught:
        compare(
            contestants({"torch": ""}, recipe),
            options=make_options(folder, **options),
            compile_to=lambda *_: pytest.fail("compiled although the recipe is refused"),
        )
    return caught.value.diagnostics[0].code


def test_recipes_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    custom = make_recipe().model_dump() | {
        "model": {"kind": "custom", "factory": {"torch": "nets:make"}},
        "data": {"source": "npz", "train": "a.npz", "eval": "b.npz"},
    }
    assert refused(Recipe.model_validate(custom), tmp_path) == "CC704"
    assert refused(make_recipe(scaled=False), tmp_path, faults=["1:0=inf"]) == "CC706"
    assert refused(make_recipe(), tmp_path, faults=["1:2=inf"]) == "CC705"
    assert refused(make_recipe(), tmp_path, faults=["1:1=inf@classifer.*"]) == "CC712"
    assert refused(make_recipe(), tmp_path, faults=["1:1=inf@input:*"]) == "CC712"
    assert refused(make_recipe(), tmp_path, reference="paddle") == "CC707"


def test_what_cannot_be_compared_is_left_out_and_said(lab: Lab) -> None:
    two = {"strategy": "data_parallel", "processes_per_node": 2}
    batch = {"micro_batch_size": 8, "global_batch_size": 32}
    recipe = make_recipe(model={"dropout": 0.1}, distributed=two, batch=batch)
    report = compare(
        contestants({"torch": "", "paddle": ""}, recipe),
        options=make_options(lab.folder, check="model", windows=24, twins=0, cache=lab.cache),
        compile_to=compile_fakes,
    )
    assert [words.partition(":")[0] for words in report.left_out] == [
        "model.dropout",
        "distributed",
    ]
    assert "FAIL" not in {check.result for check in pair(report).checks}


def test_half_is_emulated_on_cpu() -> None:
    assert choose_execution(True, "paddle", "auto", "cpu") == "emulated"
    assert choose_execution(True, "torch", "auto", "cpu") == "emulated"
    assert choose_execution(True, "torch", "native", "cpu") == "native"
    assert choose_execution(True, "torch", "auto", "gpu") == "native"
    assert choose_execution(False, "torch", "emulated", "cpu") == "native"  # nothing is half
    assert choose_execution(True, "none", "auto", "cpu") == "native"
    with pytest.raises(DiagnosticError) as caught:
        choose_execution(True, "none", "emulated", "cpu")
    assert caught.value.diagnostics[0].code == "CC713"


def test_a_folder_that_cannot_be_used_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as caught:
        compare(
            contestants({"torch": ""}, make_recipe()),
            options=make_options(tmp_path / "file"),
            compile_to=compile_fakes,
        )
    assert caught.value.diagnostics[0].code == "CC708"
