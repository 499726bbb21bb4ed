"""`crosscast migrate ... --verify` for real: the emitted script runs, the recipe judges.

CROSSCAST_WRITE_GOLDENS=1 rewrites what the page about migrating shows of it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import migration_sources
from frameworks.subprocesses import environment, require
from tiers import exhaustive

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "migrating.md"
NUMBER = re.compile(r"\d[\d.e+-]*")
GIVEN = ("schedule.total_steps=200", "batch.micro_batch_size=4", "accumulation.tail=drop")
SAID = tuple(word for value in GIVEN for word in ("--set", value))


def verified(folder: Path, text: str, target: str, *more: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and what the report says of the proof; the model is left to fill in."""
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
    assert done.stdout.startswith("Done: open: written for "), done.stdout
    return done.returncode, data["verification"]["targets"][0]


def verdicts(proof: dict[str, Any]) -> dict[str, str]:
    return {entry["field"]: entry["verdict"] for entry in proof["fields"]}


def looks_right(code: int, proof: dict[str, Any]) -> None:
    assert proof["outcome"] == "same", proof["wording"]
    assert code == 1
    assert [(entry["stage"], entry["outcome"]) for entry in proof["stages"]] == [
        ("toy", "same"),
        ("BERT", "same"),
    ]
    assert proof["stages"][0]["wording"].startswith("128 windows are as the reference has them")
    on_toy = [check for check in proof["checks"] if "(toy/" in check]
    assert len(on_toy) == 4
    assert all(": pass: equal in 64 windows, " in check for check in on_toy)
    found = verdicts(proof)
    for path in ("optimizer.learning_rate", "loss_scaling.growth_interval", "precision.mode"):
        assert found[path] == "same", path
    assert found["model.kind"] == "not comparable"
    assert "different" not in found.values()
    assert "overflowed" in proof["wording"]


@exhaustive("proofs on real frameworks; with stand-ins in `make test`")
@pytest.mark.torch
def test_apex_to_torch_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.APEX, "torch"))
    assert (tmp_path / "out" / "verification" / "torch" / "report.html").exists()


@exhaustive("a proof with a corrected mistake")
@pytest.mark.torch
def test_a_corrected_mistake_is_changed_on_purpose(tmp_path: Path) -> None:
    code, proof = verified(tmp_path, migration_sources.CLIPS_SCALED, "torch")
    assert code == 1
    assert verdicts(proof)["clipping.kind"] == "changed on purpose"
    assert verdicts(proof)["clipping.max_norm"] == "same"


@exhaustive("proofs on real frameworks; with stand-ins in `make test`")
@pytest.mark.paddle
def test_torch_to_paddle_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.TORCH, "paddle"))


@exhaustive("proofs on real frameworks; with stand-ins in `make test`")
@pytest.mark.jax
def test_torch_to_jax_is_proven(tmp_path: Path) -> None:
    looks_right(*verified(tmp_path, migration_sources.TORCH, "jax"))


@exhaustive("proofs on real frameworks; with stand-ins in `make test`")
@pytest.mark.tensorflow
def test_paddle_to_tensorflow_is_proven(tmp_path: Path) -> None:
    tf32 = ("--set", "precision.tf32=false")  # releases of Paddle differ
    looks_right(*verified(tmp_path, migration_sources.PADDLE, "tensorflow", *tf32))


@exhaustive("proofs on real frameworks; with stand-ins in `make test`")
@pytest.mark.torch
def test_a_version_that_is_not_installed_cannot_be_verified_here(tmp_path: Path) -> None:
    code, proof = verified(tmp_path, migration_sources.APEX, "torch@2.1")
    assert code == 3
    assert proof["outcome"] == "cannot be verified here"
    assert not proof["executed"]
    assert proof["stages"][0]["wording"].startswith(
        "not run: the step is for PyTorch 1.11 to 2.3, not"
    )


def excerpt(lines: list[str], printed: list[str], page: list[str]) -> list[str]:
    """Return a section of the page with what a proof says now: its block, and rows by name."""
    first, last = lines.index("```text"), lines.index("```")
    rows = {line.partition(" | ")[0]: line for line in page if line.startswith("| ")}
    after = [rows.get(line.partition(" | ")[0], line) for line in lines[last:]]
    return [*lines[: first + 1], *printed, *after]


@exhaustive("the documented session, as printed")
@pytest.mark.torch
def test_the_page_shows_what_a_proof_prints(tmp_path: Path) -> None:
    """But for digits, which are those of one machine."""
    require("torch")
    text = PAGE.read_text(encoding="utf-8")
    _, _, apex = text.partition("`train.py`, an apex O1 loop:\n\n```python\n")
    (tmp_path / "train.py").write_text(apex.partition("```")[0])
    head, mark, section = text.partition("The output for the apex loop above, ")
    command = re.findall(r"^`crosscast (.*?)`$", section, re.MULTILINE | re.DOTALL)[0]
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", *shlex.split(command)],
        cwd=tmp_path,
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "out" / "report.md").read_text().splitlines()
    now = "\n".join([*excerpt(section.splitlines(), done.stdout.splitlines(), page), ""])
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        PAGE.write_text(head + mark + now, encoding="utf-8")
    else:
        assert NUMBER.sub("#", now) == NUMBER.sub("#", section)
