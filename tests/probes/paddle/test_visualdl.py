"""VisualDL, which Paddle's own tools write with, still has files of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from frameworks.subprocesses import run_python
from tiers import exhaustive

pytestmark = [pytest.mark.paddle, exhaustive("VisualDL's files; skipped without it")]


def test_visualdl_writes_no_files_of_tensorboard(tmp_path: Path) -> None:
    for name in ("visualdl", "tensorboard"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    program = Path(__file__).with_name("visualdl_facts.py")
    facts = run_python(program, "paddle", tmp_path, fork=False)
    assert facts["files"]
    assert not any("tfevents" in name for name in facts["files"])
    assert facts["scalars"] == []
    assert facts["read by visualdl"] == [[1, 0.5]]
