"""The keys and the folder that results of runs are kept under."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from crosscast_parity.inside.session import Session
from crosscast_parity.processes import run_cache
from crosscast_parity.processes.run_cache import (
    Store,
    content_hash,
    file_hash,
    folder_hash,
    interpreter,
    user_folder_hash,
    versions,
)

DONE = '{"modules": {}, "files": {}}'


def test_hashes_follow_the_content(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.txt").write_text("1")
    first = folder_hash(tmp_path)
    assert user_folder_hash(tmp_path) == first
    for unseen in (".git/config", "__pycache__/a.pyc", "venv/pyvenv.cfg", "venv/lib.py"):
        (tmp_path / unseen).parent.mkdir(exist_ok=True)
        (tmp_path / unseen).write_text("1")
        assert folder_hash(tmp_path) == first
    for seen in ("b.txt", "c.py", "deep/er/settings.json"):
        (tmp_path / seen).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / seen).write_text("2" if seen == "b.txt" else "1")
        assert folder_hash(tmp_path) != first
        first = folder_hash(tmp_path)
    without = user_folder_hash(tmp_path, [tmp_path / "deep"])
    (tmp_path / "deep" / "result").write_text("1")
    assert user_folder_hash(tmp_path, [tmp_path / "deep"]) == without
    assert file_hash(tmp_path / "a.py") == file_hash(tmp_path / "c.py")
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    assert content_hash({"a": 1}) != content_hash({"a": 2})


def test_versions_of_an_interpreter_that_is_not_there() -> None:
    assert versions("/nowhere/python") == ()
    assert interpreter("/nowhere/python") != interpreter("/nowhere/python")
    assert interpreter(sys.executable) == interpreter(sys.executable)


@pytest.mark.parametrize("limit", ["LARGEST_FOLDER", "MOST_FILES"])
def test_a_large_folder_is_another_one_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1")
    assert user_folder_hash(tmp_path) == user_folder_hash(tmp_path)
    monkeypatch.setattr(run_cache, limit, 1)
    assert user_folder_hash(tmp_path) != user_folder_hash(tmp_path)


def test_a_result_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    partial = store.begin("key")
    assert store.find("key") is None
    (partial / "done.json").write_text(DONE)
    kept = store.keep("key", partial)
    assert store.find("key") == kept
    late = store.begin("key")
    (late / "done.json").write_text(f" {DONE}")
    assert (store.keep("key", late) / "done.json").read_text() == DONE
    assert not late.exists()


def test_a_result_is_known_by_its_files_and_modules(tmp_path: Path) -> None:
    module, store = tmp_path / "module.py", Store(tmp_path / "runs")
    module.write_text("1")
    done = {"modules": {str(module): file_hash(module)}, "files": {"trace.jsonl": 3}}
    partial = store.begin("key")
    (partial / "done.json").write_text(json.dumps(done))
    (partial / "trace.jsonl").write_text("{}\n")
    kept = store.keep("key", partial)
    assert store.find("key") == kept
    for path, text in ((module, "2"), (kept / "trace.jsonl", "{"), (kept / "done.json", "[1]")):
        before = path.read_text()
        path.write_text(text)
        assert store.find("key") is None
        path.write_text(before)
        assert store.find("key") == kept
    module.unlink()
    assert store.find("key") is None
    store.drop("key")
    assert not kept.exists()


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    mine = store.begin("key")
    dead = mine.with_name(mine.name.replace(str(os.getpid()), "999999999"))
    elsewhere = tmp_path / "partial-another.host-999999999-key"
    for folder in (dead, elsewhere):
        folder.mkdir()
    (tmp_path / "finished").mkdir()
    store.sweep()
    assert mine.exists()
    assert elsewhere.exists()
    assert not dead.exists()
    assert (tmp_path / "finished").exists()


def test_what_a_framework_generates_is_no_source_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("__autograph_generated_file7x", "my_rate"):
        file = tmp_path / f"{name}.py"
        file.touch()
        module = ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
    found = Session(tmp_path, "tensorflow", None)._modules()
    assert str(tmp_path / "my_rate.py") in found
    assert not [path for path in found if "autograph" in path]
