"""`crosscast migrate -o ... --verify --run`: the reading is proven beside what was emitted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast_migrate import proof as emitted_proof
from crosscast_parity.compare.migration_proof import Proof
from crosscast_reading.lift import run_proof
from crosscast_reading.lift.drafting import Lifted
from crosscast_reading.lift.run_proof import Demand, FieldProof, RunProof

WORDS = ("--to", "torch", "-o", "out", "--verify", "--run", "train.py --steps 4")
RATE = FieldProof(status="proven", value=3e-4, run=None, why="it shows")


def migrate(*words: object) -> Any:
    return CliRunner().invoke(app, ["migrate", "train.py", *map(str, words)])


@pytest.fixture(autouse=True)
def proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Demand]:
    """Neither the emitted script nor the source is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(migration_sources.TORCH)
    demands: list[Demand] = []

    def prove(lifted: Lifted, demand: Demand) -> RunProof:
        demands.append(demand)
        fields = {"optimizer.learning_rate": RATE}
        found = RunProof(command=demand.command, fields=fields, lifted=lifted, corrected=lifted)
        if "--gone" in demand.command:
            return replace(found, fields={}, problem="it ended with exit code 1")
        if "--wrong" in demand.command:
            wrong = replace(RATE, status="contradicted", run=0.1)
            return replace(found, fields={"optimizer.learning_rate": wrong})
        return found

    def same(*given: Any) -> dict[str, Any]:
        shown = Proof(target="torch", outcome="same", wording="it is")
        return {"targets": [emitted_proof._plain(shown)], "reading": None}

    monkeypatch.setattr(run_proof, "prove_by_run", prove)
    monkeypatch.setattr(emitted_proof, "verify", same)
    return demands


def test_both_links_are_told_apart(proven: list[Demand], tmp_path: Path) -> None:
    found = migrate(*WORDS, "--updates", 7, "--timeout", 5)
    assert proven[0] == Demand(command="train.py --steps 4", updates=7, timeout=5.0)
    lines = found.stdout.splitlines()
    assert "  the emitted script does what this recipe says (proven)" in lines
    assert any(
        line.startswith("this recipe says what train.py does: 1 field proven by its run, ")
        for line in lines
    )
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    assert data["verification"]["reading"]["counts"]["proven"] == 1
    page = (tmp_path / "out" / "report.md").read_text()
    assert "This recipe says what train.py does: 1 field proven by its run" in page
    assert "| `optimizer.learning_rate` | proven | it shows |" in page


def test_a_contradiction_is_an_error(proven: list[Demand]) -> None:
    found = migrate(*WORDS[:-1], "train.py --wrong")
    assert found.exit_code == 1
    assert "error CC978: optimizer.learning_rate: read 0.0003, but the run shows 0.1" in (
        found.stderr
    )


def test_a_source_that_cannot_be_run_leaves_the_reading_open(proven: list[Demand]) -> None:
    found = migrate(*WORDS[:-1], "train.py --gone")
    assert found.exit_code == 3
    assert "warning CC979: train.py --gone: it ended with exit code 1" in found.stderr


def test_the_source_is_run_for_a_proof_only() -> None:
    words = [word for word in WORDS if word != "--verify"]
    found = migrate(*words)
    assert found.exit_code == 2
    assert "--run needs --verify" in found.stderr
