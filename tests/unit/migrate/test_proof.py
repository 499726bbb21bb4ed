"""What is said of a proof: passed, failed, or not possible on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

import crosscast_parity.compare.migration_proof as migration
import migration_sources
import parity_reports
from crosscast.cli import app
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.chosen_proof import across_proof
from crosscast_migrate.schema import migrate_schema
from crosscast_migrate.summary import across_summary
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.migration_proof import FieldProof, Proof, StageProof, prove, stand_in
from crosscast_parity.planning.stages import proof_stages
from crosscast_parity.toy.stage import OnToy

SAID = (
    *("--set", "schedule.total_steps=100", "--set", "batch.micro_batch_size=8"),
    *("--set", "accumulation.tail=drop"),
)


def answer(monkeypatch: pytest.MonkeyPatch, proof: Proof) -> None:
    monkeypatch.setattr(migration, "prove", lambda *given, **more: proof)


def run(tmp_path: Path, text: str = migration_sources.APEX) -> tuple[Any, dict[str, Any]]:
    script = tmp_path / "train.py"
    script.write_text(text)
    words = ("migrate", str(script), "--to", "torch", "-o", str(tmp_path / "out"), "--verify")
    found = CliRunner().invoke(app, [*words, *SAID])
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    jsonschema.validate(data, migrate_schema())
    return found, data["verification"]["targets"][0]


def test_a_proof_that_passes_is_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = FieldProof(field="optimizer.eps", verdict="same", why="L1b update")
    stages = (
        StageProof(stage="toy", outcome="same", wording="128 windows"),
        StageProof(stage="BERT", outcome="same", wording="104 checks"),
    )
    words = "toy: 128 windows; BERT: 104 checks"
    proof = Proof(target="torch", outcome="same", wording=words, stages=stages, fields=(field,))
    answer(monkeypatch, proof)
    found, report = run(tmp_path)
    assert found.exit_code == 1  # the data of the source is left to fill in
    assert found.stdout.startswith("Done: open: written for torch: ")
    assert report["executed"]
    assert [entry["stage"] for entry in report["stages"]] == ["toy", "BERT"]
    assert "torch: same: toy: 128 windows; BERT: 104 checks" in found.stdout
    assert "1 fields same" in found.stdout
    page = (tmp_path / "out/report.md").read_text()
    assert "| `optimizer.eps` | same | L1b update |" in page
    assert "| toy | same | 128 windows |\n| BERT | same | 104 checks |" in page


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "converted"),
        ({"verification": ["same", "same"]}, "verified"),
        ({"verification": ["same", "cannot be verified here"]}, "converted"),
        ({"verification": ["same", "different"]}, "open"),
        ({"fill_in": [{"field": "data.train"}], "verification": ["same"]}, "open"),
        ({"diagnostics": [{"code": "CC936", "message": "a"}], "verification": ["same"]}, "open"),
        ({"diagnostics": [{"code": "CC340", "message": "a"}]}, "converted"),
    ],
)
def test_a_migration_across_is_verified_converted_or_open(
    changes: dict[str, Any], state: str
) -> None:
    outcomes = changes.pop("verification", None)
    targets = [
        {"target": "torch", "outcome": each, "wording": "it is", "proof": {"words": "as above"}}
        for each in outcomes or ()
    ]
    verification = None if outcomes is None else {"targets": targets, "reading": None}
    lists = ("targets", "bugs", "fill_in", "not_carried", "diagnostics")
    data: dict[str, Any] = {name: [] for name in lists}
    said = across_summary({**data, **changes, "verification": verification})
    assert said.state == state
    assert said.done.startswith(f"{state}: ")
    assert (said.decide == "nothing") == (state != "open")


def test_what_cannot_be_verified_here_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = Proof(target="torch", outcome="cannot be verified here", wording="no torch")
    answer(monkeypatch, proof)
    found, report = run(tmp_path)
    assert found.exit_code == 3
    assert "CC976" in found.stderr
    assert not report["executed"]
    assert "cannot be verified here" in (tmp_path / "out/report.md").read_text()


def test_a_script_that_does_otherwise_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, Proof(target="torch", outcome="different", wording="L1b update: off"))
    found, _ = run(tmp_path)
    assert found.exit_code == 1
    assert "CC977" in found.stderr


FAILS = Check(
    level="L1b",
    name="tensors of the toy",
    result="fail",
    wording="window 3: ema/bias[1] is 0.5, expected 0.25 +- 1.0e-08",
    stage="toy",
    run="active",
)
PASSES = Check(
    level="L0b", name="trace of the toy", result="pass", wording="equal", stage="toy", run="active"
)


def proven(
    monkeypatch: pytest.MonkeyPatch, folder: Path, toy: OnToy | None, code: str = "CC704"
) -> Proof:
    """The proof where the toy comes to that, or has no step, and the harness refuses the recipe."""

    def refuse(*given: object, **more: object) -> None:
        raise DiagnosticError(Diagnostic(code=code, message="not this recipe"))

    def on_toy(*given: object, **more: object) -> OnToy:
        if toy is None:
            raise DiagnosticError(Diagnostic(code="CC306", message="no step for you"))
        return toy

    monkeypatch.setattr(migration, "compare", refuse)
    monkeypatch.setattr(migration, "step_on_toy", on_toy)
    recipe = migrate_across([Source("train.py", migration_sources.APEX)], ["torch"]).recipe
    return prove(recipe, "torch", folder, compile_to=_compile, corrected={}, unknown=())


def test_a_recipe_that_the_harness_cannot_run_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = proven(monkeypatch, tmp_path, OnToy(checks=(PASSES,)))
    assert proof.outcome == "cannot be verified here"
    assert proof.wording.endswith("; BERT: not this recipe")
    assert [stage.outcome for stage in proof.stages] == ["same", "cannot be verified here"]
    assert proof.checks == ("L0b trace of the toy (toy/active): pass: equal",)
    chosen = across_proof(asdict(proof))
    assert chosen.level == "migrated side"
    assert chosen.words.startswith("only the training step of the new script was run")


def test_a_proof_in_which_nothing_is_compared_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = replace(PASSES, result="not tested", wording="no window")
    toy = proven(monkeypatch, tmp_path, OnToy(checks=(skipped,))).stages[0]
    assert toy.outcome == "cannot be verified here"
    assert toy.wording.startswith("nothing could be compared: L0b trace of the toy")
    report = parity_reports.lone()
    assert migration._judged("torch", report)[0] == "same"
    empty = replace(report, entrants=(replace(report.entrants[0], checks=()),))
    words = "nothing could be compared"
    assert migration._judged("torch", empty) == ("cannot be verified here", words)


def test_a_difference_on_the_toy_counts_even_if_no_bert_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = proven(monkeypatch, tmp_path, OnToy(checks=(PASSES, FAILS)))
    assert proof.outcome == "different"
    assert proof.wording.startswith(
        f"toy: L1b tensors of the toy (toy/active): {FAILS.wording}; BERT: "
    )
    assert [stage.outcome for stage in proof.stages] == ["different", "cannot be verified here"]


@pytest.mark.parametrize(
    ("toy", "words"),
    [(None, "no step for you"), (OnToy(unable="torch is not there"), "torch is not there")],
)
def test_a_toy_that_cannot_be_run_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: OnToy | None, words: str
) -> None:
    proof = proven(monkeypatch, tmp_path, toy)
    assert proof.stages[0].outcome == "cannot be verified here"
    assert proof.stages[0].wording == f"not run: {words}"


def test_a_target_without_a_script_of_its_own_is_not_verified(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(migration_sources.TORCH)
    words = ("migrate", str(script), "--to", "accelerate", "-o", str(tmp_path / "out"))
    found = CliRunner().invoke(app, [*words, *SAID, "--verify"])
    assert "not part of them" in found.stderr, found.output
    assert found.exit_code == 3
    assert not (tmp_path / "out" / "accelerate" / "own_model.py").exists()
    assert "own_model" not in (tmp_path / "out" / "recipe.yaml").read_text()


def test_a_folder_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for toy in (OnToy(), None):
        with pytest.raises(DiagnosticError, match="CC708"):
            proven(monkeypatch, tmp_path, toy, code="CC708")


def test_a_small_bert_stands_in_and_everything_else_stays() -> None:
    recipe = migrate_across([Source("train.py", migration_sources.TORCH)], ["paddle"]).recipe
    tested = stand_in(recipe)
    assert tested.model.kind == "bert"
    for section in ("precision", "loss_scaling", "accumulation", "clipping", "schedule"):
        assert getattr(tested, section) == getattr(recipe, section)
    assert tested.optimizer == recipe.optimizer
    assert stand_in(tested) is tested


def test_overflows_are_injected_with_active_and_with_the_recipes_own_values() -> None:
    recipe = migrate_across([Source("train.py", migration_sources.TORCH)], ["paddle"]).recipe
    stages = proof_stages(stand_in(recipe))
    assert all("faults" in stage.parts and "start" in stage.parts for stage in stages)
    own = stages[1].derive(stand_in(recipe))
    assert own.loss_scaling == recipe.loss_scaling
    assert own.optimizer == recipe.optimizer


def _compile(*given: object, **more: object) -> None:
    raise AssertionError("nothing is compiled here")
