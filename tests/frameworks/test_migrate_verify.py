"""`crosscast migrate ... --verify` for real: the emitted script runs, the recipe judges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import migration_sources

SAID = ("--set", "schedule.total_steps=200", "--set", "batch.micro_batch_size=4")


def verified(folder: Path, text: str, target: str, *more: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and what the report says of the proof."""
    script = folder / "train.py"
    script.write_text(text)
    words = ("migrate", str(script), "--to", target, "-o", str(folder / "out"), "--verify")
    command = [sys.executable, "-m", "crosscast", *words, *SAID, *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    report = folder / "out" / "report.json"
    assert report.exists(), done.stderr
    data = json.loads(report.read_text())
    assert data["verification"] is not None, done.stderr
    return done.returncode, data["verification"]["targets"][0]


def verdicts(proof: dict[str, Any]) -> dict[str, str]:
    return {one["field"]: one["verdict"] for one in proof["fields"]}


def looks_right(code: int, proof: dict[str, Any]) -> None:
    assert proof["outcome"] == "same", proof["wording"]
    assert code == 0
    found = verdicts(proof)
    for path in ("optimizer.learning_rate", "loss_scaling.growth_interval", "precision.mode"):
        assert found[path] == "same", path
    assert found["model.kind"] == "not comparable"
    assert "different" not in found.values()
    assert "overflowed" in proof["wording"]


@pytest.mark.torch
def test_apex_to_torch_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.APEX, "torch"))
    assert (tmp_path / "out" / "verification" / "torch" / "report.html").exists()


@pytest.mark.torch
def test_a_corrected_mistake_is_changed_on_purpose(tmp_path: Path) -> None:
    code, proof = verified(tmp_path, migration_sources.CLIPS_SCALED, "torch")
    assert code == 0
    assert verdicts(proof)["clipping.kind"] == "changed on purpose"
    assert verdicts(proof)["clipping.max_norm"] == "same"


@pytest.mark.paddle
def test_torch_to_paddle_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.TORCH, "paddle"))


@pytest.mark.tensorflow
def test_paddle_to_tensorflow_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.PADDLE, "tensorflow"))


@pytest.mark.torch
def test_a_version_that_is_not_installed_cannot_be_verified_here(tmp_path: Path) -> None:
    code, proof = verified(tmp_path, migration_sources.APEX, "torch@2.1")
    assert code == 3
    assert proof["outcome"] == "cannot be verified here"
    assert not proof["executed"]
