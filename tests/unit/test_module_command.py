"""`crosscast parity` on models of the user: its files, and the options that it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.weights.document import WeightsMap
from crosscast_parity.modules.command import Result

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


def test_the_command_writes_a_report_and_says_that_levels_are_not_tested(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = WeightsMap(frameworks=("torch", "paddle"), entries=())
    result = Result(known=known, matched=True, left={}, state=False, judgements=())
    monkeypatch.setattr("crosscast_parity.modules.command.compare_modules", lambda request: result)
    out = tmp_path / "out"
    ran = CliRunner().invoke(app, ["parity", recipe, "--to", "torch,paddle", "-o", str(out)])
    assert ran.exit_code == 3, ran.output
    assert "NOT TESTED: L2" in ran.output
    assert "NOT TESTED: modules: running statistics" in ran.output
    told = json.loads((out / "modules.json").read_text())
    assert told["same"] is True
    assert [found["level"] for found in told["not_tested"]][:2] == ["modules", "L0a-L0c"]
    assert {path.name for path in out.iterdir()} == {"modules.json", "modules.txt", "weights.yaml"}


UNUSED = (
    "--stress",
    "--bisect",
    "--self-test",
    "--fault=0:0=inf",
    "--check=quick",
    "--windows=8",
    "--twins=3",
    "--half=auto",
    "--device=gpu",
    "--threads=1",
    "--jobs=1",
    "--memory=0",
    "--cache=runs",
)


@pytest.mark.parametrize("option", UNUSED)
def test_options_without_an_effect_are_refused(recipe: str, tmp_path: Path, option: str) -> None:
    ran = CliRunner().invoke(
        app, ["parity", recipe, "--to", "torch,paddle", "-o", str(tmp_path / "out"), option]
    )
    assert ran.exit_code not in (0, 3)
    assert "CC704" in ran.output
    assert option.partition("=")[0] in ran.output
