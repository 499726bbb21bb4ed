"""`check-scaling` without a framework: what is refused, what cannot be run, what is printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.cli import app
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast_parity.checks.check import Check
from crosscast_parity.processes.process import Outcome
from crosscast_parity.scaling_law.command import exit_code
from crosscast_parity.scaling_law.recipes import make_subject
from crosscast_parity.scaling_law.report import (
    WIDTH,
    ScalingReport,
    ScalingVerdict,
    ShapeReport,
    TargetReport,
)
from parity_recipes import plain
from scaling_bench import subject_of


def command(folder: Path, recipe: Recipe, *options: str) -> int:
    path = folder / "recipe.yaml"
    path.write_text(recipe_text(recipe))
    arguments = ["check-scaling", str(path), "--windows", "4", *options]
    return int(app(arguments, standalone_mode=False) or 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--stress", "--keep-model"), "--stress is for the small model"),
        (("-o", "."), "is not empty"),
    ],
)
def test_options_that_make_no_sense_are_usage(
    tmp_path: Path,
    options: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(tmp_path, plain(), "--to", "torch", *options) == 2
    assert "CC748" in (output := capsys.readouterr().err)
    assert words in output


@pytest.mark.parametrize(("name", "least"), [("processes", 2), ("windows", 4)])
def test_numbers_that_are_too_small_are_refused(name: str, least: int) -> None:
    numbers: dict[str, Any] = {"processes": 2, "windows": 4, name: least - 1}
    with pytest.raises(DiagnosticError, match=f"CC748.*{name} must be at least {least}"):
        make_subject(plain(), stress=False, keep_model=False, **numbers)


def test_a_target_without_a_script_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, plain(), "--to", "deepspeed") == 1
    assert "CC306" in capsys.readouterr().err


def test_a_target_that_cannot_express_a_shape_is_not_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(recipe: Recipe, targets: Any, folder: Path) -> None:
        if recipe.processes > 1:
            found = Diagnostic(code="CC300", path="distributed.strategy", message="one process")
            raise DiagnosticError(found)

    monkeypatch.setattr("crosscast.emit.folders.compile_to_folders", _then(refuse))
    assert command(tmp_path, plain(), "--to", "torch", "--json") == 3
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert (target["verdict"], target["code"]) == ("NOT TESTED", "CC300")
    assert "distributed.strategy: one process" in target["wording"]


def _then(refuse: Any) -> Any:
    from crosscast.emit.folders import compile_to_folders

    def compile_to(recipe: Recipe, targets: Any, folder: Path) -> None:
        refuse(recipe, targets, folder)
        compile_to_folders(recipe, targets, folder)

    return compile_to


def test_a_missing_framework_is_not_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "python"
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    )
    bare.write_text(f'#!/bin/sh\nPYTHONPATH="{blocked}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    bare.chmod(0o755)
    recipe = plain(
        precision={"mode": "none", "compute_dtype": "float32"}, loss_scaling={"mode": "none"}
    )
    code = command(tmp_path, recipe, "--to", "torch", "--python", f"torch={bare}", "--json")
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert (code, target["verdict"], target["code"]) == (3, "NOT TESTED", "CC401"), target
    assert "torch is not installed" in target["wording"]


def report(*verdicts: ScalingVerdict) -> ScalingReport:
    subject = subject_of(plain(model__dropout=0.1))
    shape = subject.shapes[-1]
    checks = (
        Check(level="L0a", name="data", result="pass", wording="equal", value=0, limit=0),
        Check(level="L2", name="loss", result="fail", wording="long " * 30, value=7.5, limit=1.0),
        Check(level="L1b", name="weights", result="pass", wording="fine", value=0.25, limit=1.0),
    )
    run = ShapeReport(
        scene="overflow",
        shape=shape,
        outcome=Outcome(kind="finished"),
        checks=checks,
        cause="gradients are summed",
    )
    targets = [
        TargetReport(target=f"t{n}", verdict=verdict, wording="so it is", runs=(run,))
        for n, verdict in enumerate(verdicts)
    ]
    return ScalingReport(name="r", subject=subject, targets=tuple(targets))


def test_the_report_fits_a_terminal() -> None:
    lines = list(report("DIFFERENT").lines())
    assert max(map(len, lines)) <= WIDTH
    text = "\n".join(lines)
    for part in ("t0: DIFFERENT", "FAIL", "0.25", "likely cause: gradients are summed", "dropout"):
        assert part in text
    assert "not the same by design" in text


def test_the_json_of_a_report_is_plain_data() -> None:
    found = json.loads(json.dumps(report("DIFFERENT").to_json()))
    assert found["targets"][0]["runs"][0]["cause"] == "gradients are summed"
    page = (Path(__file__).parents[2] / "docs" / "reference" / "scaling-law.md").read_text()
    section = page[page.index("`--json` prints") :]
    for keys in (found, found["targets"][0], found["targets"][0]["runs"][0]):
        for key in keys:
            assert f"`{key}`" in section, key


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (("EQUAL",), 0),
        (("EQUAL", "DIFFERENT"), 1),
        (("NOT TESTED", "ERROR"), 1),
        (("EQUAL", "NOT TESTED"), 3),
        (("INCONCLUSIVE",), 1),
    ],
)
def test_exit_codes(verdicts: tuple[ScalingVerdict, ...], code: int) -> None:
    assert exit_code(report(*verdicts)) == code


def test_without_the_harness_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "crosscast_parity.scaling_law.command", None)
    assert command(tmp_path, plain(), "--to", "torch") == 3
    assert "CC401" in capsys.readouterr().err
