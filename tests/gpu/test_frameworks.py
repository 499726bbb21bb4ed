"""BERT-base in PyTorch and JAX on one GPU trains equivalently; skipped where JAX sees none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frameworks.subprocesses import environment

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "frameworks_gpu.py"
CANNOT_RUN = 3


@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.timeout(660)
def test_bert_base_trains_alike_in_pytorch_and_jax() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("| EQUIVALENT |") == 4
    assert "NOT MEASURED" not in done.stdout
