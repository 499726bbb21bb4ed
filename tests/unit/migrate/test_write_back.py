"""What a migration in place writes: all files or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration
from crosscast_migrate.write_back import write_back
from crosscast_reading.sources.files import Text

OLD = migration_sources.TORCH.replace('torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler(")


def migrated(texts: dict[str, str], added: dict[str, str] | None = None) -> InPlaceMigration:
    return InPlaceMigration(texts=texts, added=added or {}, changes=(), refusals=(), problems=())


def files(folder: Path, *names: str) -> dict[str, Text]:
    found = {}
    for name in names:
        path = folder / name
        if not path.exists():
            path.write_text("old\n")
        found[str(path)] = Text(source=Source(str(path), "old\n"), path=path)
    return found


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def said(problems: list[Any]) -> list[str]:
    assert {problem.code for problem in problems} <= {"CC502"}
    return [problem.message.rpartition("/")[2] for problem in problems]


def test_changed_and_added_files_are_written(tmp_path: Path) -> None:
    read = files(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0o750)
    (tmp_path / "link.py").symlink_to("a.py")
    read |= files(tmp_path, "link.py")
    texts = dict.fromkeys(read, "new\n")
    assert write_back(read, migrated(texts, {str(tmp_path / "helper.py"): "h\n"})) == []
    assert contents(tmp_path) == {"a.py": "new\n", "helper.py": "h\n", "link.py": "new\n"}
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("obstacle", "why"),
    [
        ("read-only", "b.py: not written: the file is read-only"),
        ("edited", "b.py: not written: the file was changed in the meantime"),
        ("gone", "b.py: not written: No such file or directory"),
        ("helper", "helper.py: not written: the file exists with other content"),
        ("two names", "link.py: not written: two names of one file lead to different changes"),
    ],
)
def test_one_file_that_cannot_be_written_stops_all(tmp_path: Path, obstacle: str, why: str) -> None:
    read = files(tmp_path, "a.py", "b.py")
    texts = dict.fromkeys(read, "new\n")
    if obstacle == "read-only":
        (tmp_path / "b.py").chmod(0o444)
    elif obstacle == "edited":
        (tmp_path / "b.py").write_text("mine\n")
    elif obstacle == "gone":
        (tmp_path / "b.py").unlink()
    elif obstacle == "helper":
        (tmp_path / "helper.py").write_text("mine\n")
    else:
        (tmp_path / "link.py").symlink_to("a.py")
        read |= files(tmp_path, "link.py")
        texts[str(tmp_path / "link.py")] = "other\n"
    before = contents(tmp_path)
    assert said(write_back(read, migrated(texts, {str(tmp_path / "helper.py"): "h\n"}))) == [why]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("call", [1, 2])
def test_a_failure_in_the_middle_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    read = files(tmp_path, "a.py", "b.py")
    calls: list[Path] = []
    replace = Path.replace

    def failing(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == call:
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    before = contents(tmp_path)
    found = write_back(read, migrated(dict.fromkeys(read, "new\n")))
    assert said(found) == [f"{'ab'[call - 1]}.py: No space left on device"]
    assert contents(tmp_path) == before


def test_the_summary_says_that_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(OLD)
    (tmp_path / "b.py").chmod(0o444)
    found = CliRunner().invoke(
        app, ["migrate", ".", "--to", "torch.amp", "--write", "--experimental"]
    )
    assert found.exit_code == 2
    lines = found.stderr.splitlines()
    assert lines[0].startswith("Done: open: nothing was written; 2 changes in 2 files found; ")
    assert lines[1] == "Decide: b.py: not written: the file is read-only"
    assert (tmp_path / "a.py").read_text() == OLD


@pytest.mark.parametrize("option", ["--write", "--interactive"])
def test_standard_input_cannot_be_written(option: str) -> None:
    found = CliRunner().invoke(
        app, ["migrate", "-", "--to", "torch.amp", option, "--experimental"], input=OLD
    )
    assert found.exit_code == 2
    assert "the text of standard input cannot be changed in place" in found.stderr
