"""A small sweep with the emitted PyTorch script, by the command that users type."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import require
from sweep_fakes import small
from tiers import exhaustive

pytestmark = pytest.mark.torch


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    require("torch")
    path = tmp_path / "recipe.yaml"
    text = small(name="real", optimizer={"name": "adamw", "learning_rate": 1e-3})
    path.write_text(json.dumps(text | {"schedule": {"total_steps": 40}}))
    return path


def sweep(recipe: Path, output: str, *flags: str) -> list[str]:
    return [
        *(sys.executable, "-m", "crosscast", "sweep", str(recipe), "--to", "torch"),
        *("--output", str(recipe.parent / output), "--jobs", "2", *flags),
    ]


def run(command: list[str]) -> tuple[str, list[dict[str, Any]]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr, json.loads(done.stdout)["cells"]


@exhaustive("a sweep on a real framework; with stand-ins in `make test`")
def test_a_sweep_over_seeds_and_rates(recipe: Path) -> None:
    rates = ("--set", "optimizer.learning_rate=1e-3", "--set", "optimizer.learning_rate=1e-2")
    command = sweep(recipe, "out", "--seeds", "0-1", *rates, "--json")
    output, cells = run(command)
    assert output.startswith("4 cells, 0 done before\n")
    assert len({cell["weights_sha256"] for cell in cells}) == 4
    assert {cell["kind"] for cell in cells} == {"finished"}
    assert {cell["windows"] for cell in cells} == {40}
    output, again = run(command)
    assert output == "4 cells, 4 done before\n"
    assert again == cells


@exhaustive("kills of a sweep on a real framework")
def test_a_killed_sweep_with_a_killed_training_comes_to_the_same(recipe: Path) -> None:
    _, expected = run(sweep(recipe, "plain", "--seeds", "0-1", "--json"))
    flags = ("--seeds", "0-1", "--checkpoint-every", "3", "--json")
    first = subprocess.Popen(
        sweep(recipe, "out", *flags), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    training = _training(recipe.parent / "out")
    first.kill()
    first.wait()
    os.kill(training, signal.SIGKILL)
    _, cells = run(sweep(recipe, "out", *flags))
    for ours, theirs in zip(cells, expected, strict=True):
        for name in ("trace_sha256", "weights_sha256", "eval_loss"):
            assert ours[name] == theirs[name], name


def _training(folder: Path) -> int:
    """Wait for a cell with a checkpoint; return the process that trains it."""
    deadline = time.monotonic() + 120
    while True:
        for checkpoint in folder.glob("cells/*/output/checkpoint.safetensors"):
            cell = checkpoint.parents[1]
            worker = int((cell / "lock").read_text().split()[1])
            children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
            if children and not (cell / "result.json").exists():
                return int(children[0])
        assert time.monotonic() < deadline
        time.sleep(0.01)
