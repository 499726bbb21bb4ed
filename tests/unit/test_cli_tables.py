"""Tables of the command line: whole names on a narrow terminal, no padding in a pipe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast.cli.lift import lift_command
from recipe_texts import text_of

NARROW = 80
GROUPS = [{"parameters": ["bert.embeddings.*", "[ab]"], "rate_factor": 0.5}]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "r.yaml"
    optimizer = {"name": "adamw", "learning_rate": 1e-3, "groups": GROUPS}
    path.write_text(text_of(optimizer=json.dumps(optimizer)))
    return str(path)


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """Call a command on a terminal of 80 columns; return the lines."""
    monkeypatch.setenv("COLUMNS", str(NARROW))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def call(command: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        command(*arguments, **options)
        return capsys.readouterr().out.splitlines()

    return call


@pytest.mark.parametrize("width", [60, NARROW, 120])
def test_lift_on_a_terminal_is_whole(
    terminal: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    path = tmp_path / "train.py"
    path.write_text(migration_sources.TORCH)
    monkeypatch.chdir(tmp_path)
    piped = run("lift", "train.py", "--all")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = terminal(lift_command, ["train.py"], all=True)
    assert words(lines) == piped.split()
    assert max(map(len, lines)) <= width
    if width > max(map(len, piped.splitlines())):
        assert lines == piped.splitlines()


def words(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


def test_a_pipe_gets_one_line_a_row(recipe: str) -> None:
    for arguments in (["explain", recipe], ["matrix"], ["matrix", "--dialects"]):
        rows = json.loads(run(*arguments, "--json"))
        lines = [line.split() for line in run(*arguments, "--all").splitlines()]
        named = [words for words in lines if words and words[0] in {row["target"] for row in rows}]
        counts = [words for words in named if len(words) == 5 and words[1].isdigit()]
        assert len(named) - (len(counts) if "--dialects" not in arguments else 0) == len(rows)


def test_a_long_value_pads_no_other_row(recipe: str) -> None:
    lines = run("explain", recipe, "--to", "torch", "--all").splitlines()
    (groups,) = [line for line in lines if line.split()[1:2] == ["optimizer.groups"]]
    rest = [line for line in lines[3:] if line != groups]
    assert max(map(len, rest)) < 200
    shown = json.dumps(GROUPS[0]["parameters"])
    assert f'[{{"parameters": {shown}, ' in groups
    assert '"rate_factor": 0.5' in groups


def test_values_are_json_and_not_python(recipe: str) -> None:
    lines = run("explain", recipe, "--to", "torch", "--all").splitlines()
    table = {line.split()[1]: line for line in lines if len(line.split()) > 2}
    assert " true " in table["data.shuffle"]
    assert " [0.9, 0.999] " in table["optimizer.betas"]
    assert "None" not in table["optimizer.groups"]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("--json", "--markdown"),
        ("--dialects", "--defaults"),
        ("--dialects", "--markdown"),
        ("--to=torch", "--markdown"),
        ("--only=exact", "--dialects"),
        ("--only=exact", "--defaults"),
        ("--field=seed", "--markdown"),
        ("--field=seed", "--defaults"),
    ],
)
def test_options_that_would_be_ignored_are_refused(first: str, other: str) -> None:
    for options in ([first, other], [other, first]):
        result = CliRunner().invoke(app, ["matrix", *options])
        assert result.exit_code == 2
        assert result.stdout == ""
        names = f"{first.partition('=')[0]} and {other}"
        assert f"{names} exclude each other" in " ".join(result.output.split())
        assert "Usage: crosscast matrix" in result.output


@pytest.mark.parametrize("options", [["--defaults", "--markdown"], ["--defaults", "--json"]])
def test_other_options_go_together(options: list[str]) -> None:
    assert run("matrix", *options)
