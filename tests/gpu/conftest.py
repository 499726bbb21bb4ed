"""Tests that need a GPU; without one they are skipped. docs/measurements/half-precision-gpu.md says
when they ran."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

SEES_GPU = "import sys, torch; sys.exit(not torch.cuda.is_available())"


@pytest.fixture(scope="session", autouse=True)
def _gpu() -> None:
    found = importlib.util.find_spec("torch") is not None
    if not found or subprocess.run([sys.executable, "-c", SEES_GPU], check=False).returncode:
        pytest.skip("needs a GPU that PyTorch sees")
