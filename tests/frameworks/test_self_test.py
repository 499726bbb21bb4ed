"""The self-test in a real framework: every level sees the bug that is planted for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crosscast_parity.self_test.canaries import canaries_of
from frameworks.subprocesses import require
from tiers import exhaustive

RECIPE = Path(__file__).parents[1] / "mutants" / "recipe.yaml"


@exhaustive("the self-test of parity on real frameworks")
@pytest.mark.timeout(5400)  # XLA compiles every planted script, twice and more
@pytest.mark.parametrize(
    "framework",
    [pytest.param("torch", marks=pytest.mark.torch), pytest.param("jax", marks=pytest.mark.jax)],
)
def test_every_level_sees_its_canary(framework: str, tmp_path: Path) -> None:
    require(framework)
    command = ["parity", str(RECIPE), "--to", framework, "--self-test", "--output", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", *command],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    _, verdict, _, _, *lines = done.stdout.splitlines()
    count = len(canaries_of(framework)) + 1
    words = f"self-test: {count} of {count} planted bugs were detected by their level"
    assert verdict == f"Verdict:   {words}", done.stdout
    assert lines[count] == words, done.stdout
