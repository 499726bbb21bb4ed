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
from crosscast.cli.compile import explain_command
from crosscast.cli.environment import matrix_command
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
    terminal: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    path = tmp_path / "train.py"
    path.write_text(migration_sources.TORCH)
    monkeypatch.chdir(tmp_path)
    piped = run("lift", "train.py")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = terminal(lift_command, ["train.py"])
    assert words(lines) == piped.split()
    assert max(map(len, lines)) <= width
    if width > max(map(len, piped.splitlines())):
        assert lines == piped.splitlines()


def words(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


def cells(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[str]:
    return [word for row in rows for name in names for word in str(row[name]).split()]


def test_matrix_on_a_terminal_is_whole(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(matrix_command)
    names = ("target", "dialects", "field", "verdict", "code", "evidence", "how")
    rows = json.loads(run("matrix", "--json"))
    assert words(lines) == [*names, *cells(rows, names)]
    assert max(map(len, lines)) <= NARROW


def test_dialects_on_a_terminal_are_whole(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(matrix_command, dialects=True)
    rows = json.loads(run("matrix", "--dialects", "--json"))
    assert words(lines) == [*rows[0], *cells(rows, tuple(rows[0]))]
    assert max(map(len, lines)) <= NARROW


def test_defaults_on_a_terminal_are_whole(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(matrix_command, defaults=True)
    printed = {line.strip() for line in lines}
    text = "\n".join(lines)
    for row in json.loads(run("matrix", "--defaults", "--json")):
        assert row["api"] in printed or f"{row['target']}  {row['api']}" in text
        assert row["name"] in text
    assert "\u2026" not in text


def test_explain_on_a_terminal_is_whole(terminal: Callable[..., list[str]], recipe: str) -> None:
    found = words(terminal(explain_command, recipe))
    for row in json.loads(run("explain", recipe, "--json")):
        at = next(
            index
            for index in range(len(found))
            if found[index : index + 3] == [row["target"], row["field"], row["verdict"]]
        )
        assert row["code"] in ("", found[at + 3])


def test_a_pipe_gets_one_line_a_row(recipe: str) -> None:
    for arguments in (["explain", recipe], ["matrix"], ["matrix", "--dialects"]):
        lines = run(*arguments).splitlines()
        assert len(lines) == 1 + len(json.loads(run(*arguments, "--json")))


def test_a_long_value_pads_no_other_row(recipe: str) -> None:
    lines = run("explain", recipe, "--to", "torch").splitlines()
    (groups,) = [line for line in lines if line.split()[1] == "optimizer.groups"]
    rest = [line for line in lines if line != groups]
    assert max(map(len, rest)) < 200
    shown = json.dumps(GROUPS[0]["parameters"])
    assert f'[{{"parameters": {shown}, ' in groups
    assert '"rate_factor": 0.5' in groups


def test_values_are_json_and_not_python(recipe: str) -> None:
    table = {line.split()[1]: line for line in run("explain", recipe, "--to", "torch").splitlines()}
    assert " true " in table["data.shuffle"]
    assert " [0.9, 0.999] " in table["optimizer.betas"]
    assert "None" not in table["optimizer.groups"]


@pytest.mark.parametrize(
    ("first", "other"),
    [("--json", "--markdown"), ("--dialects", "--defaults"), ("--dialects", "--markdown")],
)
def test_options_that_would_be_ignored_are_refused(first: str, other: str) -> None:
    for options in ([first, other], [other, first]):
        result = CliRunner().invoke(app, ["matrix", *options])
        assert result.exit_code == 2
        assert result.stdout == ""
        assert f"{first} and {other} exclude each other" in result.output
        assert "Usage: crosscast matrix" in result.output


@pytest.mark.parametrize("options", [["--defaults", "--markdown"], ["--defaults", "--json"]])
def test_other_options_go_together(options: list[str]) -> None:
    assert run("matrix", *options)
