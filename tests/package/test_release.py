"""The wheel in empty environments of every Python that it names; see `make release-check`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from package import release_check
from package.built_package import build
from package.release_check import PYTHONS, Dependencies, interpreter, oldest, use
from tiers import exhaustive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"), "--wheel")


@exhaustive("the wheel in empty environments of every Python, with the newest and the oldest")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dependencies", ["newest", "oldest"])
@pytest.mark.parametrize("version", PYTHONS)
def test_everything_works_from_the_wheel(
    wheel: Path, version: str, dependencies: Dependencies, tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    used = use(wheel, python, dependencies, tmp_path)
    own = used.bytes.pop("crosscast")
    assert own < 12e6
    assert sum(used.bytes.values()) < 40e6


def test_oldest_dependencies_are_those_of_the_project() -> None:
    found = [*oldest()]
    assert all(re.fullmatch(r"[\w.-]+==\d[\d.]*", line) for line in found), found


def test_a_python_that_is_not_here_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"")
    monkeypatch.setattr(release_check, "PYTHONS", ["3.99"])
    monkeypatch.setattr(release_check, "build", lambda *_: wheel)
    monkeypatch.setattr(release_check, "unpacked", lambda *_: tmp_path)
    monkeypatch.setattr(release_check, "contents", lambda _: {})
    assert release_check.main() == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2:] == [
        "the sdist builds the same wheel",
        "Python 3.99: NOT TESTED: it is not on this machine",
    ]
