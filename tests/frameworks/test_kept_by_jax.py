"""Runs of a comparison share what JAX has compiled, in a folder of the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax
PROGRAM = Path(__file__).with_name("run_kept_by_jax.py")


def ran(folder: Path, own: Path | str = "") -> dict[str, Any]:
    document: dict[str, Any] = run_python(PROGRAM, "jax", folder, own)
    return document


def test_a_function_is_compiled_once(tmp_path: Path) -> None:
    first, second = ran(tmp_path / "kept"), ran(tmp_path / "kept")
    count = first["kept"][0]
    assert count > 0
    assert first["kept"] == second["kept"] == [count, count]
    assert len({*first["values"], *second["values"]}) == 1


def test_a_folder_of_the_users_stays(tmp_path: Path) -> None:
    assert ran(tmp_path / "kept", tmp_path / "own")["kept"] == [0, 0]
    assert list((tmp_path / "own").iterdir())
