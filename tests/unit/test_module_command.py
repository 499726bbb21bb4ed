"""`crosscast parity` on models of the user: its files, and the options that it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.weights.document import WeightsMap
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.modules.command import Result
from parity_reports import broken

RECIPE = """
version: 1
name: own
model: {kind: custom, factory: {torch: "own:build", paddle: "own:build"}}
data: {source: npz, train: train.npz, eval: eval.npz}
batch: {micro_batch_size: 2, global_batch_size: 2}
optimizer: {name: sgd, learning_rate: 0.1}
schedule: {name: constant, total_steps: 4}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return str(path)


def found(monkeypatch: pytest.MonkeyPatch, left: dict[str, list[str]]) -> Result:
    """Let a comparison of modules find tensors without a counterpart, or no difference."""
    known = WeightsMap(frameworks=("torch", "paddle"), entries=())
    result = Result(known=known, matched=True, left=left, state=False, metrics=True, judgements=())
    monkeypatch.setattr("crosscast_parity.modules.command.compare_modules", lambda request: result)
    return result


def test_models_that_differ_are_not_trained(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, {"torch": ["spare [3]"]})
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["parity", recipe, "--to", "torch,paddle", "-o", str(out)])
    assert ran.exit_code == 1, ran.output
    assert "torch: weights without counterpart: spare [3]" in ran.output
    assert "NOT TESTED: modules: running statistics" in ran.output
    assert "NOT TESTED: levels: everything that trains" in ran.output
    told = json.loads((out / "modules.json").read_text())
    assert told["same"] is False
    assert [found["level"] for found in told["not_tested"]] == ["modules", "levels"]
    verdicts = {"junit.xml", "badge.svg", "badge.json", "report.html"}
    models = {"modules.json", "modules.txt", "weights.yaml"}
    assert {path.name for path in out.iterdir()} == verdicts | models | {"lock"}
    assert json.loads((out / "badge.json").read_text())["message"] == "DIFFERENT"
    page = (out / "report.html").read_text()
    assert "weights without counterpart: spare [3]" in page
    assert "everything that trains" in page
    assert f"open {out / 'report.html'}" in ran.output.replace("\n", "")
    assert "out=FOLDER" not in ran.output


def test_models_that_are_the_same_are_trained(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = found(monkeypatch, {})
    asked: dict[str, Any] = {}

    def train(contestants: Any, **arguments: Any) -> ParityReport:
        asked.update(arguments, names=[contestant.name for contestant in contestants])
        return broken()

    monkeypatch.setattr("crosscast_parity.compare.harness.compare", train)
    monkeypatch.setattr(
        "crosscast_parity.modules.outputs.write_report", lambda report, folder, **more: folder
    )
    out = tmp_path / "out"
    flags = ["--to", "torch,paddle", "-o", str(out), "--windows", "8", "--twins", "1"]
    ran = CliRunner().invoke(app, ["parity", recipe, *flags])
    assert ran.exit_code == 1, ran.output
    assert isinstance(ran.exception, SystemExit)
    assert asked["names"] == ["torch", "paddle"]
    assert asked["custom"] is result.trained
    assert (asked["options"].windows, asked["options"].twins) == (8, 1)
    assert "NOT TESTED: levels" not in ran.output


BERT_ONLY = ("--stress", "--save-reference=kept", "--reference-run=kept")


@pytest.mark.parametrize("option", BERT_ONLY)
def test_options_without_an_effect_are_refused(recipe: str, tmp_path: Path, option: str) -> None:
    ran = CliRunner().invoke(
        app, ["parity", recipe, "--to", "torch,paddle", "-o", str(tmp_path / "out"), option]
    )
    assert ran.exit_code not in (0, 3)
    assert "CC704" in ran.output
    assert option.partition("=")[0] in ran.output
