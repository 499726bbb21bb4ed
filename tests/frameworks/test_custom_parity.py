"""The three problems of `examples`, small: trained and compared, level by level."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import require
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

EXAMPLES = Path(__file__).parents[2] / "examples"


def compared(
    example: str, targets: str, folder: Path, *options: str, edits: dict[str, tuple[str, str]] = {}
) -> tuple[int, dict[str, Any], str]:
    """Compare the models of an example after edits of its files; return code, report, output."""
    for target in targets.split(","):
        require(target)
    own = folder / example
    shutil.copytree(EXAMPLES / example, own, ignore=shutil.ignore_patterns("after", "out"))
    for name, (old, new) in edits.items():
        text = (own / name).read_text()
        assert old in text
        (own / name).write_text(text.replace(old, new))
    command = ["parity", "recipe.yaml", "--to", targets, "-o", "out", "--jobs", "2", *options]
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", *command], cwd=own, capture_output=True, text=True
    )
    report = own / "out" / "report.json"
    text = done.stdout + done.stderr
    return done.returncode, json.loads(report.read_text()) if report.exists() else {}, text
