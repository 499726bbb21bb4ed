"""Examining frameworks that are missing, broken, slow or strange."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from crosscast.targets import doctor
from crosscast.targets.backend import Backend
from crosscast.targets.doctor import Examination, examine

GOOD = {
    "version": "2.0",
    "devices": ["cpu"],
    "native": {"float32": True, "bfloat16": True, "float16": False},
    "note": "slow",
}


@dataclass
class FakeBackend:
    name: str = "fake"
    distributions: tuple[str, ...] = ("no-such-distribution", "pytest")


def examined(probe: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Examination:
    """Return what is found by a backend whose machine.py holds `probe`."""
    (folder / "machine.py").write_text(probe)
    monkeypatch.setattr(sys.modules[__name__], "__file__", str(folder / "__init__.py"))
    return examine(cast(Backend, FakeBackend(**more)))


def test_a_framework_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = examined(f"print('noise')\nprint({json.dumps(GOOD)!r})", tmp_path, monkeypatch)
    assert found.usable
    assert found.to_json() == {"target": "fake", **GOOD}
    assert found.cells() == ["fake", "2.0", "cpu", "native", "native", "no", "slow"]


def test_a_framework_that_is_not_installed() -> None:
    found = examine(cast(Backend, FakeBackend(distributions=("no-such-distribution",))))
    assert not found.usable
    assert found.note == 'not installed: pip install "crosscast[fake]"'
    assert found.cells()[1] == "missing"


@pytest.mark.parametrize(
    ("probe", "note"),
    [
        ("import sys; sys.exit('boom')", "does not import: boom"),
        ("raise ImportError('lib.so')", "does not import: ImportError: lib.so"),
        ("", "does not import: no output"),
        ("print('not json')", "does not import: no output"),
        ("print('[]')", "does not import: no output"),
        ("print('{}')", "does not import: no output"),
        ('print(\'{"version": 1, "devices": [], "native": []}\')', "does not import: no output"),
        ("import os; os.write(2, b'\\xff\\xfe')", "does not import: \ufffd\ufffd"),
        ("import os; os.abort()", "does not import: no output"),
        ("print(input())", "does not import: EOFError: EOF when reading a line"),
    ],
)
def test_a_framework_that_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: str, note: str
) -> None:
    found = examined(probe, tmp_path, monkeypatch)
    assert (found.usable, found.note) == (False, note)


def test_a_framework_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMEOUT_SECONDS", 0.2)
    found = examined("import time; time.sleep(60)", tmp_path, monkeypatch)
    assert (found.usable, found.note) == (False, "import takes too long")
