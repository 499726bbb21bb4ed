"""What comparisons leave behind, on NumPy scripts: reports, finished runs, bisections."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.compare.harness import Progress, compare
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.runs.kept_reference import stored_contestant
from parity_fakes import make_recipe, write_fakes
from parity_lab import Lab, compare_and_report, compile_fakes, contestants, pair, run
from tiers import cases

HALF = {"mode": "mixed", "compute_dtype": "float16"}


@pytest.mark.usefixtures("without_figures")
def test_an_interrupted_comparison_leaves_a_report_and_goes_on(own_lab: Lab) -> None:
    ended = []

    def interrupt(progress: Progress) -> None:
        ended.append(progress.title)
        if progress.kind == "ended":
            raise KeyboardInterrupt

    bugs = {"torch": "", "paddle": "noise"}
    options = make_options(own_lab.folder, check="model", windows=24, jobs=1)
    programs = contestants(bugs, make_recipe())
    code = compare_and_report(programs, options, on_progress=interrupt)
    assert code == 130
    document = json.loads((own_lab.folder / "report.json").read_text())
    assert document["pairs"][0]["verdict"] == "NOT TESTED"
    # The next runs of the process may have ended before it was killed.
    finished = [path.parent.name for path in own_lab.folder.glob("runs/*/done.json")]
    kept = len([name for name in finished if not name.startswith("partial-")])
    assert kept >= 1

    report = compare(programs, options=options, compile_to=compile_fakes)
    assert [r.cached for r in report.runs].count(True) == kept < len(report.runs)
    assert pair(report).verdict == "EQUIVALENT"
    again = compare(programs, options=options, compile_to=compile_fakes)
    assert all(r.cached for r in again.runs)
    assert again.pairs == report.pairs
    assert again.stages == report.stages


def test_results_are_kept_by_what_they_depend_on(own_lab: Lab) -> None:
    first = own_lab.compare({"torch": "", "paddle": ""}, faults=["none"], twins=0)
    assert not any(r.cached for r in first.runs if r.contestant == "torch")
    assert not list(own_lab.folder.glob("runs/*/checkpoint.safetensors"))
    other = own_lab.compare({"torch": "", "paddle": "late_growth"}, faults=["none"], twins=0)
    assert all(r.cached for r in other.runs if r.contestant == "torch")
    assert not any(r.cached for r in other.runs if r.contestant == "paddle")
    more = own_lab.compare({"torch": ""}, faults=["none"], twins=0, threads=2)
    assert not any(r.cached for r in more.runs)
    broken = own_lab.compare({"torch": "", "paddle": "missing"}, faults=["none"], twins=0)
    assert pair(broken).verdict == "NOT TESTED"
    assert run(broken, "paddle").rows == ()


def test_command_prints_and_writes_the_report(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.command({"torch": "", "paddle": ""}) == 0
    printed = capsys.readouterr().out
    assert "paddle against torch: EQUIVALENT" in printed
    first = (lab.folder / "report.json").read_text()
    document = json.loads(first)
    assert [p["verdict"] for p in document["pairs"]] == ["EQUIVALENT"]
    assert len(document["stages"][0]["envelope"]["spread"]) == 24
    assert str(lab.folder) not in first


@pytest.mark.parametrize(
    ("bugs", "code"),
    cases(
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
        quick=[
            ({"torch": "", "paddle": "late_growth"}, 1),
            ({"torch": "", "paddle": "cannot_run"}, 3),
            ({"torch": ""}, 0),
            ({"torch": "crash"}, 1),
        ],
        reason="exit codes of more programs",
    ),
)
@pytest.mark.usefixtures("without_figures")
def test_exit_codes(lab: Lab, bugs: dict[str, str], code: int) -> None:
    assert lab.command(bugs, faults=["none"]) == code
    assert (lab.folder / "report.html").is_file()


@pytest.mark.parametrize(
    ("bug", "field", "value"),
    cases(
        [
            ("late_growth", "loss_scaling.growth_interval", "6"),
            ("tick_on_skip", "schedule.tick", "attempt"),
            ("tail_dropped", "accumulation.tail", "drop"),
        ],
        quick=[("late_growth", "loss_scaling.growth_interval", "6")],
        reason="more planted bugs, bisected",
    ),
)
def test_bisection_names_the_field(lab: Lab, bug: str, field: str, value: str) -> None:
    recipe = make_recipe(precision={"mode": "mixed", "compute_dtype": "float16"})
    report = compare(
        contestants({"torch": "", "paddle": bug}, recipe),
        options=make_options(lab.folder, check="model", windows=24, bisect=True, cache=lab.cache),
        compile_to=compile_fakes,
    )
    (found,) = report.bisections
    assert found.fields == (field,)
    assert f"{field}: {value}" in found.wording
    assert len(found.steps) > 1


def test_without_a_difference_nothing_is_bisected(lab: Lab) -> None:
    assert lab.compare({"torch": "", "paddle": "noise"}, bisect=True).bisections == ()


def test_a_reference_is_kept_and_compared_with(lab: Lab, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    lab.compare({"torch": "", "paddle": "noise"}, save_reference=kept)
    stored = stored_contestant(kept, {"torch"})
    assert stored.name == "stored-torch"
    for bug, verdict in (("noise", "EQUIVALENT"), ("late_growth", "DIFFERENT")):
        folder = tmp_path / bug
        report = compare(
            [stored, *contestants({"paddle": bug}, make_recipe())],
            options=make_options(
                folder, check="model", windows=24, reference=stored.name, cache=lab.cache
            ),
            compile_to=compile_fakes,
        )
        assert report.reference == "stored-torch"
        assert pair(report).verdict == verdict
        assert not list(folder.glob("scripts/stored-*"))


@pytest.mark.parametrize(
    "half", cases([False, True], quick=[True], reason="a kept script in float32, too")
)
def test_a_users_script_is_kept_as_a_reference(tmp_path: Path, made: Path, half: bool) -> None:
    recipe = make_recipe(precision=HALF) if half else make_recipe()
    write_fakes(tmp_path, {"own": ""})
    script = tmp_path / "own" / "train.py"
    own = Contestant(name="own", target="none", recipe=recipe, script=script)
    kept = tmp_path / "kept"
    options = {"windows": 24, "twins": 1, "faults": ["none"], "reference": "own", "cache": made}

    def compared(name: str, reference: Contestant, bug: str, **more: Path) -> str:
        report = compare(
            [reference, *contestants({"paddle": bug}, recipe)],
            options=make_options(tmp_path / name, **options, **more),  # type: ignore[arg-type]
            compile_to=compile_fakes,
        )
        assert report.reference == "own"
        return pair(report).verdict

    live = compared("live", own, "", save_reference=kept)
    stored = stored_contestant(kept, ())
    assert (stored.own, stored.emitted) == (True, False)
    assert compared("again", stored, "") == live
    assert compared("bug", stored, "late_growth" if half else "tail_dropped") == "DIFFERENT"


@pytest.fixture(scope="module")
def kept_reference(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    lab = Lab(folder / "lab", made)
    lab.compare({"torch": "", "paddle": "noise"}, save_reference=folder / "kept")
    return folder / "kept"


@pytest.mark.parametrize("change", ["windows", "seed", "weights", "missing", "damaged", "outside"])
def test_a_kept_reference_that_does_not_fit_is_refused(
    kept_reference: Path, tmp_path: Path, change: str
) -> None:
    kept = shutil.copytree(kept_reference, tmp_path / "kept")
    file, recipe, windows = kept / "reference.json", make_recipe(), 24
    if change == "windows":
        windows = 22
    elif change == "seed":
        recipe = recipe.model_copy(update={"seed": 5})
    elif change == "weights":
        file.write_text(re.sub('"weights": "[0-9a-f]{8}', '"weights": "00000000', file.read_text()))
    elif change == "missing":
        file.unlink()
    elif change == "damaged":
        file.write_text(file.read_text()[:-20])
    else:
        file.write_text(file.read_text().replace('"folder": "runs', '"folder": "../runs'))
    with pytest.raises(DiagnosticError) as caught:
        compare(
            [*contestants({"paddle": ""}, recipe), stored_contestant(kept, ())],
            options=make_options(tmp_path / "new", check="model", windows=windows),
            compile_to=compile_fakes,
        )
    assert caught.value.diagnostics[0].code == "CC714"
