"""Bytecode of templates: cached for the user alone, never stale, and never needed."""

from __future__ import annotations

import marshal
import os
import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from crosscast.emit.template_cache import TemplateCache, cache_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")


class Counted(Environment):
    """Counts the templates that it compiles."""

    compiled = 0

    def _generate(self, *args: object, **options: object) -> str:
        type(self).compiled += 1
        return super()._generate(*args, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(Counted, "compiled", 0)


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "a.j2").write_text("one {{ 'x' | upper }}")
    (folder / "filters.py").write_text("first")
    return folder


def rendered(templates: Path, cache: Path) -> str:
    cached = TemplateCache(cache, templates / "filters.py")
    environment = Counted(loader=FileSystemLoader(templates), bytecode_cache=cached)
    return environment.get_template("a.j2").render()


def only(cache: Path) -> Path:
    [file] = cache.iterdir()
    return file


def test_compiled_once_for_the_user_alone(templates: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = os.umask(0o002)  # a group of the user's own
    try:
        assert [rendered(templates, cache) for _ in range(3)] == ["one X"] * 3
    finally:
        os.umask(before)
    assert Counted.compiled == 1
    assert cache.stat().st_mode & 0o777 == 0o700
    assert only(cache).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("file", ["a.j2", "filters.py"])
def test_changed_source_is_compiled_again(file: str, templates: Path, tmp_path: Path) -> None:
    rendered(templates, tmp_path / "cache")
    times = (templates / file).stat()
    (templates / file).write_text("two {{ 1 }}")
    os.utime(templates / file, ns=(times.st_atime_ns, times.st_mtime_ns))
    rendered(templates, tmp_path / "cache")
    assert Counted.compiled == 2


def test_other_jinja_is_compiled_again(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered(templates, tmp_path / "cache")
    monkeypatch.setattr("jinja2.__version__", "4.0")
    rendered(templates, tmp_path / "cache")
    assert Counted.compiled == 2


def plant(file: Path) -> None:
    """Replace the bytecode by other valid bytecode."""
    content = file.read_bytes()
    code = compile("raise AssertionError('planted')", "planted", "exec")
    file.write_bytes(content[:40] + marshal.dumps(code))


def test_planted_bytecode_is_not_loaded(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    rendered(templates, cache)
    plant(only(cache))
    with pytest.raises(AssertionError, match="planted"):  # it would be run
        rendered(templates, cache)
    only(cache).chmod(0o620)
    assert rendered(templates, cache) == "one X"
    plant(only(cache))
    other = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: other)
    assert rendered(templates, cache) == "one X"


@pytest.mark.parametrize("kept", [0, 20, 40, 60])
def test_damaged_file_is_replaced(kept: int, templates: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    rendered(templates, cache)
    only(cache).write_bytes(only(cache).read_bytes()[:kept])
    assert [rendered(templates, cache) for _ in range(2)] == ["one X"] * 2
    assert Counted.compiled == 2


def test_no_folder_can_be_made(templates: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert rendered(templates, tmp_path / "file" / "cache") == "one X"


def test_python_is_told_to_write_no_bytecode(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(templates, tmp_path / "cache") == "one X"
    assert not (tmp_path / "cache").exists()


def test_folder_is_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/someone/.cache/crosscast/templates")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == Path("/elsewhere/crosscast/templates")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() is None
