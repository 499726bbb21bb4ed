"""The files of `goldens` are what ruff would write, in every dialect that has some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emission.goldens import FOLDER

FOLDERS = sorted(path.name for path in FOLDER.iterdir() if any(path.glob("*.py.txt")))


@pytest.mark.parametrize("name", FOLDERS)
def test_ruff_finds_nothing(name: str, tmp_path: Path) -> None:
    for kept in (FOLDER / name).glob("*.py.txt"):
        # A fingerprint is as long; some lines are full.
        text = kept.read_text(encoding="utf-8").replace("(fingerprint)", "0123456789abcdef")
        (tmp_path / kept.stem).write_text(text, encoding="utf-8")
    for command in (("check",), ("format", "--diff")):
        ruff = (sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", tmp_path)
        done = subprocess.run([*map(str, ruff)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
