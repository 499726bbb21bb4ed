"""Baselines: known findings are not reported, wherever their lines move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscast_reading.lint.rule import Rule
from reading_helpers.lint_runs import run

HEAD = "optimizer = 1\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Rule) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HEAD + "BAD = 1\nBAD = 1\nx = BAD\n")
    result = run("a.py", "--baseline", "known.json", "--write-baseline")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "3 findings" in result.stderr
    return tmp_path


def lint(project: Path, text: str) -> tuple[int, str]:
    (project / "a.py").write_text(text)
    result = run("a.py", "--baseline", "known.json", "--format", "json")
    found = json.loads(result.stdout)["findings"]
    return result.exit_code, " ".join(str(entry["span"]["line"]) for entry in found)


def test_known_findings_are_not_reported(project: Path) -> None:
    assert lint(project, HEAD + "BAD = 1\nBAD = 1\nx = BAD\n") == (0, "")


def test_lines_may_move_and_be_indented(project: Path) -> None:
    text = HEAD + "\n\nx =  BAD\nif x:\n    BAD = 1\n\n\n    BAD = 1\n"
    assert lint(project, text) == (0, "")


def test_new_findings_are_reported(project: Path) -> None:
    assert lint(project, HEAD + "BAD = 1\nBAD = 1\nx = BAD\ny = BAD\n") == (1, "5")
    assert lint(project, HEAD + "BAD = 1\nBAD = 1\nBAD = 1\nx = BAD\n") == (1, "4")


def test_another_file_is_new(project: Path) -> None:
    (project / "b.py").write_text(HEAD + "BAD = 1\n")
    result = run("a.py", "b.py", "--baseline", "known.json")
    assert result.exit_code == 1
    assert "b.py:2:1" in result.stdout
    assert "a.py" not in result.stdout


def test_what_is_gone_is_said(project: Path) -> None:
    (project / "a.py").write_text(HEAD + "BAD = 1\n")
    result = run("a.py", "--baseline", "known.json")
    assert result.exit_code == 0
    assert "1 in the baseline" in result.stderr
    assert "2 baseline entries no longer found" in result.stderr
    (project / "c.py").write_text(HEAD)
    assert "baseline" not in run("c.py", "--baseline", "known.json").stderr


def test_it_may_lie_elsewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert run("../a.py", "--baseline", "../known.json").exit_code == 0


def test_repairs_leave_known_findings_alone(project: Path) -> None:
    (project / "a.py").write_text(HEAD + "BAD = 1\nBAD = 2\n")
    assert run("a.py", "--baseline", "known.json", "--fix").exit_code == 0
    assert (project / "a.py").read_text() == HEAD + "BAD = 1\nGOOD = 2\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}']
)
def test_damaged_baselines(project: Path, text: str) -> None:
    (project / "known.json").write_text(text)
    result = run("a.py", "--baseline", "known.json")
    assert result.exit_code == 2
    assert "CC954" in result.stderr


def test_missing_baselines(project: Path) -> None:
    assert run("a.py", "--baseline", "no.json").exit_code == 2
    assert "CC951" in run("a.py", "--write-baseline").stderr
