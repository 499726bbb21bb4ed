"""The user's code in a framework's process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosscast_parity.inside.user_code import named, search_in


def test_modules_of_the_folder_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the folder is in the path already, behind another one, as by PYTHONPATH."""
    for name in ("other", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module_of_two.py").write_text(f"found = {name!r}")
    folders = [str(tmp_path / "other"), str(tmp_path / "own")]
    monkeypatch.setattr(sys, "path", [*folders, *sys.path])
    monkeypatch.delitem(sys.modules, "module_of_two", raising=False)
    search_in(folders[1])
    assert named("module_of_two:found") == "own"
    assert sys.path[:2] == folders[::-1]
