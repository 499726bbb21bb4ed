"""The harness from end to end, on NumPy scripts that keep the emitted scripts' contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crosscast.diagnostics import DiagnosticError
from crosscast.recipe import Recipe
from crosscast_parity.cli import parity_command
from crosscast_parity.half import choose_execution
from crosscast_parity.harness import run_parity
from crosscast_parity.options import make_options
from crosscast_parity.process import Outcome
from crosscast_parity.records import Pair, ParityReport, Run
from parity_fakes import make_recipe, write_fakes


@dataclass
class Lab:
    """Runs the harness on fakes in a folder of its own."""

    folder: Path
    printed: list[str] = field(default_factory=list)
    report: ParityReport | None = None

    def compare(
        self, bugs: Mapping[str, str], *, scaled: bool = True, windows: int = 24, **options: Any
    ) -> ParityReport:
        self.report = run_parity(
            make_recipe(scaled=scaled),
            options=make_options(list(bugs), self.folder, windows=windows, **options),
            compile_to=self.compiler(bugs, scaled=scaled),
        )
        return self.report

    def compiler(
        self, bugs: Mapping[str, str], *, scaled: bool = True
    ) -> Callable[[Recipe, Sequence[str], Path], None]:
        return lambda recipe, targets, folder: write_fakes(folder, bugs, scaled=scaled)

    def command(self, bugs: Mapping[str, str], **options: Any) -> int:
        return parity_command(
            make_recipe(),
            options=make_options(list(bugs), self.folder, windows=24, **options),
            compile_to=self.compiler(bugs),
            echo=self.printed.append,
        )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def pair(report: ParityReport, target: str = "paddle") -> Pair:
    return next(pair for pair in report.pairs if pair.target == target)


def failed(found: Pair) -> set[str]:
    return {c.name for c in (*found.checks, *found.fault_checks) if c.result == "fail"}


def run(report: ParityReport, name: str) -> Run:
    return next(run for run in report.runs if run.name == name)


def test_equal_and_nearly_equal_programs_are_equivalent(lab: Lab) -> None:
    report = lab.compare({"torch": "", "tensorflow": "noise", "paddle": ""}, faults=["none"])
    assert report.reference == "torch"
    assert [p.verdict for p in report.pairs] == ["EQUIVALENT", "EQUIVALENT"]
    noisy, same = pair(report, "tensorflow"), pair(report)
    assert "over 24 windows" in noisy.wording
    by_name = {check.name: check for check in noisy.checks}
    assert by_name["trajectory"].value
    assert {c.name: c for c in same.checks}["trajectory"].value == 0
    assert report.envelope is not None
    assert report.envelope.twins == 3
    assert report.envelope.spread[-1] > 0  # the twins were perturbed


def test_twins_beside_the_targets_say_the_same_as_after_them(lab: Lab) -> None:
    bugs = {"torch": "", "paddle": ""}
    after = lab.compare(bugs, faults=["none"], twins=1, jobs=1)
    beside = lab.compare(bugs, faults=["none"], twins=1, jobs=2)
    assert after.envelope == beside.envelope
    assert after.pairs == beside.pairs
    assert [run.name for run in after.runs] == [run.name for run in beside.runs]


def test_faults_are_injected_and_skipped(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, faults=["2:1=inf", "5:0=nan"], twins=0)
    rows = run(report, "paddle-faults").rows
    assert [row.window for row in rows if row.skipped] == [2, 5]
    assert [row.window for row in rows if row.loss is None] == [2, 5]
    assert [row.scale for row in rows[:7]] == [1024.0] * 3 + [512.0] * 3 + [256.0]
    assert all(not row.skipped for row in run(report, "paddle").rows)
    assert pair(report).verdict == "EQUIVALENT"


def test_faults_are_chosen_by_default(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, twins=0)
    assert report.faults == ("2:0=inf", "3:1=nan", "6:1=inf")
    # Micro-batch 1 does not exist in window 6, the short one: nothing is poisoned there.
    assert [r.window for r in run(report, "torch-faults").rows if r.skipped] == [2, 3]
    assert pair(report).verdict == "EQUIVALENT"


@pytest.mark.parametrize(
    ("bug", "checks"),
    [
        ("late_growth", {"scale"}),
        ("tick_on_skip", {"learning rate"}),
        ("no_skip", {"poisoned windows skipped", "skipped", "skip decision"}),
        ("tail_dropped", {"rows", "micro-batches"}),
        ("one_loss", {"trajectory"}),
    ],
)
def test_a_bug_is_different_and_named(lab: Lab, bug: str, checks: set[str]) -> None:
    report = lab.compare({"torch": "", "paddle": bug}, faults=["2:0=inf"])
    found = pair(report)
    assert found.verdict == "DIFFERENT"
    assert checks <= failed(found)
    if bug != "one_loss":
        assert found.differences


def test_a_wrong_reference_is_named(lab: Lab) -> None:
    report = lab.compare({"torch": "late_growth", "paddle": "late_growth"}, faults=["none"])
    assert pair(report).verdict == "DIFFERENT"
    assert "L0b scale" in pair(report).wording


def test_without_scaling_nothing_is_injected(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, scaled=False, twins=1)
    assert report.faults == ()
    assert {r.role for r in report.runs} == {"main", "twin"}
    assert pair(report).verdict == "EQUIVALENT"


def test_few_windows_are_inconclusive(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": ""}, windows=10, faults=["none"])
    assert pair(report).verdict == "INCONCLUSIVE"
    assert "at least 20" in pair(report).wording


@pytest.mark.parametrize(
    ("bug", "verdict", "words"),
    [
        ("crash", "ERROR", "SIGABRT"),
        ("hang", "ERROR", "killed after 2 s, last window 3"),
        ("garbage", "ERROR", "status.json is not JSON"),
        ("missing", "NOT TESTED", "torch_of_nobody is not installed"),
        ("cannot_run", "NOT TESTED", "AMP is not native here"),
    ],
)
def test_a_broken_target_leaves_the_others_compared(
    lab: Lab, bug: str, verdict: str, words: str
) -> None:
    bugs = {"torch": "", "tensorflow": bug, "paddle": ""}
    timeout = 2.0 if bug == "hang" else 60.0
    report = lab.compare(bugs, faults=["none"], twins=0, jobs=3, timeout=timeout)
    broken = pair(report, "tensorflow")
    assert broken.verdict == verdict
    assert words in broken.wording
    assert pair(report).verdict == "EQUIVALENT"
    if bug == "crash":
        assert len(run(report, "tensorflow").rows) == 8


def test_another_reference_is_taken_when_the_wanted_one_fails(lab: Lab) -> None:
    report = lab.compare({"torch": "crash", "tensorflow": "", "paddle": ""}, faults=["none"])
    assert (report.reference, report.requested_reference) == ("tensorflow", "torch")
    assert pair(report, "torch").verdict == "ERROR"
    assert pair(report).verdict == "EQUIVALENT"
    assert {r.target for r in report.runs if r.role == "twin"} == {"tensorflow"}


def test_perturbed_runs_are_left_out_when_there_is_nothing_to_compare(lab: Lab) -> None:
    report = lab.compare({"torch": "", "paddle": "crash"}, faults=["none"])
    assert {r.role for r in report.runs} == {"main"}


def test_interrupt_leaves_a_report(lab: Lab) -> None:
    def interrupt(name: str, outcome: Outcome) -> None:
        raise KeyboardInterrupt

    code = parity_command(
        make_recipe(),
        options=make_options(["torch", "paddle"], lab.folder, windows=24, jobs=1),
        compile_to=lab.compiler({"torch": "", "paddle": ""}),
        echo=lab.printed.append,
        on_end=interrupt,
    )
    assert code == 130
    assert lab.printed[0] == "paddle against torch: NOT TESTED: interrupted"
    assert json.loads((lab.folder / "report.json").read_text())["reference"] == "torch"


def test_old_results_of_a_run_are_not_taken_for_new_ones(lab: Lab) -> None:
    lab.compare({"torch": "", "paddle": ""}, faults=["none"], twins=0)
    assert not list(lab.folder.glob("runs/*/checkpoint.safetensors"))
    report = lab.compare({"torch": "", "paddle": "missing"}, faults=["none"], twins=0)
    assert pair(report).verdict == "NOT TESTED"
    assert run(report, "paddle").rows == ()


def test_command_prints_and_writes_the_report(lab: Lab) -> None:
    assert lab.command({"torch": "", "paddle": ""}) == 0
    assert lab.printed[0].startswith("paddle against torch: EQUIVALENT")
    first = (lab.folder / "report.json").read_text()
    document = json.loads(first)
    assert [p["verdict"] for p in document["pairs"]] == ["EQUIVALENT"]
    assert len(document["envelope"]["spread"]) == 24
    assert str(lab.folder) not in first

    def frozen(text: str) -> str:
        return re.sub(r'"seconds": [\d.]+', "", text)

    page = (lab.folder / "report.html").read_text()
    assert lab.command({"torch": "", "paddle": ""}) == 0
    assert frozen((lab.folder / "report.json").read_text()) == frozen(first)
    svg = re.compile(r"<svg.*?</svg>", re.DOTALL)
    assert svg.findall((lab.folder / "report.html").read_text()) == svg.findall(page) != []


@pytest.mark.parametrize(
    ("bugs", "code"),
    [
        ({"torch": "", "paddle": "late_growth"}, 1),
        ({"torch": "", "paddle": "crash"}, 1),
        ({"torch": "", "paddle": "cannot_run"}, 3),
        ({"torch": "missing", "paddle": "cannot_run"}, 3),
        ({"torch": ""}, 0),
        ({"torch": "late_growth"}, 1),
        ({"torch": "cannot_run"}, 3),
        ({"torch": "crash"}, 1),
    ],
)
def test_exit_codes(lab: Lab, bugs: dict[str, str], code: int) -> None:
    assert lab.command(bugs, twins=0, faults=["none"]) == code
    assert (lab.folder / "report.html").is_file()


def refused(recipe: Recipe, folder: Path, **options: Any) -> str:
    with pytest.raises(DiagnosticError) as caught:
        run_parity(
            recipe,
            options=make_options(["torch"], folder, **options),
            compile_to=lambda *_: pytest.fail("compiled although the recipe is refused"),
        )
    return caught.value.diagnostics[0].code


def test_recipes_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    assert refused(make_recipe(model={"dropout": 0.1}), tmp_path) == "CC703"
    two = make_recipe(distributed={"strategy": "data_parallel", "processes_per_node": 2})
    assert refused(two, tmp_path) == "CC704"
    custom = make_recipe().model_dump() | {
        "model": {"kind": "custom", "factory": {"torch": "nets:make"}},
        "data": {"source": "npz", "train": "a.npz", "eval": "b.npz"},
    }
    assert refused(Recipe.model_validate(custom), tmp_path) == "CC704"
    assert refused(make_recipe(scaled=False), tmp_path, faults=["1:0=inf"]) == "CC706"
    assert refused(make_recipe(), tmp_path, faults=["1:2=inf"]) == "CC705"
    assert refused(make_recipe(), tmp_path, faults=["1:1=inf@classifer.*"]) == "CC712"
    assert refused(make_recipe(), tmp_path, faults=["1:1=inf@input:*"]) == "CC712"


def executions(recipe: Recipe, *targets: str, **options: Any) -> dict[str, str]:
    return dict(choose_execution(recipe, make_options(targets, Path("x"), **options)))


def test_half_is_emulated_where_there_is_none() -> None:
    half = make_recipe(precision={"mode": "mixed", "compute_dtype": "float16"})
    both, cpu = ("torch", "paddle"), {"torch": "native", "paddle": "emulated"}
    native, emulated = dict.fromkeys(both, "native"), dict.fromkeys(both, "emulated")
    assert executions(half, *both) == cpu
    assert executions(half, *both, device="gpu") == native
    assert executions(half, *both, half="native") == native
    assert executions(half, *both, half="emulated") == emulated
    assert executions(make_recipe(), *both, half="emulated") == native  # nothing is half
    assert executions(half, "mine") == {"mine": "native"}
    with pytest.raises(DiagnosticError) as caught:
        executions(half, "torch", "mine", half="emulated")
    assert caught.value.diagnostics[0].code == "CC713"


def test_a_folder_that_cannot_be_used_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as caught:
        run_parity(
            make_recipe(),
            options=make_options(["torch"], tmp_path / "file"),
            compile_to=lambda *_: None,
        )
    assert caught.value.diagnostics[0].code == "CC708"
