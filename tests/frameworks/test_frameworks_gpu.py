"""The benchmark of frameworks on a GPU, tried on a CPU: its logic, not its figures."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import environment, require
from tiers import exhaustive

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "frameworks_gpu.py"


@exhaustive("a benchmark as a whole")
@pytest.mark.torch
@pytest.mark.jax
def test_frameworks_are_compared_and_timed_on_the_same_training() -> None:
    require("torch")
    require("jax")
    given = ("--device", "cpu", "--size", "tiny", "--precisions", "bfloat16", "--rounds", "1")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *given],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    _, _, *rows = done.stdout.splitlines()
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| bfloat16", "EQUIVALENT", framework] for framework in ("torch", "jax")
    ]


def test_what_was_not_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROGRAM.parent)
    program: Any = import_module("frameworks_gpu")
    result = program.Result(
        precision="float32",
        verdict="NOT TESTED",
        windows={"torch": [0.012, 0.01, 0.02], "jax": []},
        peaks={"torch": 3 * 2**20, "jax": None},
        left_out=("the comparison", "round 1 of jax"),
    )
    _, _, torch, jax, _, left_out = program.lines([result])
    assert torch == "| float32 | NOT TESTED | torch | 12.0 | 10.0 to 20.0 | 3 |"
    assert jax.count("NOT MEASURED") == 3
    assert left_out == "No time was left in float32 for the comparison, round 1 of jax."
