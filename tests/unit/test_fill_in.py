"""Values of a recipe that are still to be filled in: how they are found, and who refuses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.recipe.load import load_placed
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text

RECIPE = """\
# Lifted by crosscast from train.py.
# FILL IN: the source does not say it; what stands here is only a start.
version: 1
name: "a # FILL IN: of a text"
model: {kind: bert, preset: tiny, labels: 3}
data: {source: synthetic}
batch: {micro_batch_size: 8}
# FILL IN: a line of its own says nothing of the next one
optimizer:
  name: adamw                       # train.py:3 (was FILL IN once)
  learning_rate: 0.001
  betas: [0.9, 0.95]
schedule:
  total_steps: 1000
"""


def crosscast(*arguments: str, stdin: str = "") -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def marked(text: str) -> dict[str, str]:
    """Return path and note of every mark of a text."""
    return {mark.dotted: mark.note for mark in parse(text, "f").marks}


MARKED = {
    "a: 1  # FILL IN": {"a": ""},
    "a: 1  # FILL IN: not in the source": {"a": "not in the source"},
    "a: 1 #FILL IN: x": {"a": "x"},
    "a: 'b'  # FILL IN": {"a": ""},
    "a: 'b # FILL IN'  # FILL IN: c": {"a": "c"},
    "a:  # FILL IN\nb: 1": {"a": ""},
    "a:  # FILL IN\n  b: 1": {"a": ""},
    "a:\n  b: 1  # FILL IN\nc: 2": {"a.b": ""},
    "a:\n  b: 1\n  c: 2  # FILL IN": {"a.c": ""},
    "a: {b: 1, c: 2}  # FILL IN": {"a": ""},
    "a: [1, 2]  # FILL IN": {"a": ""},
    "a: [1,  # FILL IN\n  2]": {"a.0": ""},
    "a: {b: 1,  # FILL IN: x\n  c: [2, 3]}  # FILL IN: y": {"a.b": "x", "a": "y"},
    "a:\n  - 1\n  - 2  # FILL IN": {"a.1": ""},
    "a:\n  - b: 1  # FILL IN\n    c: 2": {"a.0.b": ""},
    '{"a": 1,  # FILL IN: no JSON, but YAML\n "b": 2}': {"a": "no JSON, but YAML"},
    "a: >-\n  text\n  more\nb: 1  # FILL IN": {"b": ""},
    "a: two\n  lines  # FILL IN": {"a": ""},
    "a: 1  # FILL IN\r\nb: 2\r\n": {"a": ""},
}


@pytest.mark.parametrize("text", MARKED, ids=repr)
def test_a_comment_behind_a_value_marks_it(text: str) -> None:
    assert marked(text) == MARKED[text]


UNMARKED = (
    "# FILL IN: a\na: 1",
    "a: 1\n# FILL IN",
    "a:\n  b: 1\n  # FILL IN\nc: 2",
    "a: 1  # nothing to FILL IN here",
    "a: 1  # FILL INTO",
    "a: 1  # FILLIN",
    "a: 1  # fill in the blanks",
    "a: '# FILL IN'",
    'a: "1  # FILL IN"',
    "a: 1# FILL IN",
    "a: |\n  1  # FILL IN\nb: 2",
    "a: |\n  1\n# FILL IN\nb: 2",
    "x-note: later  # FILL IN: mine, not a value of the recipe",
    "x-notes:\n  a: 1  # FILL IN",
)


@pytest.mark.parametrize("text", UNMARKED, ids=repr)
def test_other_mentions_mark_nothing(text: str) -> None:
    assert marked(text) == {}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.replace('"a # FILL IN: of a text"', "mine"))
    return path


def mark(path: Path) -> None:
    text = path.read_text().replace("0.001", "0.001  # FILL IN: args.lr is not known")
    path.write_text(text.replace("total_steps: 1000", "total_steps: 1000  # FILL IN"))


def test_a_recipe_without_marks_is_accepted(path: Path) -> None:
    result = crosscast("check", "recipe.yaml")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1] == "Verdict:   Found no errors in 1 recipe."


def test_check_and_compile_refuse_marks_and_name_every_place(path: Path) -> None:
    mark(path)
    for command in (
        ("check", "recipe.yaml"),
        ("compile", "recipe.yaml", "--to", "torch", "-o", "o"),
    ):
        result = crosscast(*command)
        assert result.exit_code == 1
        assert "recipe.yaml:11:18: error CC109: optimizer.learning_rate" in result.stderr
        assert "args.lr is not known" in result.stderr
        assert "recipe.yaml:14:16: error CC109: schedule.total_steps" in result.stderr
        assert result.stderr.count("--allow-fill-in") == 1
        assert not Path("o").exists()
    data = json.loads(crosscast("check", "recipe.yaml", "--json").stdout)
    codes = [found["code"] for found in data["diagnostics"]]
    assert codes == ["CC221", "CC109", "CC109"]  # the recipe is of version 1


def test_marks_do_not_hide_other_errors(path: Path) -> None:
    mark(path)
    path.write_text(path.read_text().replace("micro_batch_size: 8", "micro_batch_size: 0"))
    assert "CC104" in crosscast("check", "recipe.yaml").stderr


def test_marks_are_warnings_on_request_and_stay_in_what_is_written(path: Path) -> None:
    mark(path)
    result = crosscast("check", "recipe.yaml", "--allow-fill-in")
    assert (result.exit_code, result.stderr.count("warning CC109")) == (0, 2)
    assert result.stdout.splitlines()[1] == "Verdict:   Found 2 warnings in 1 recipe."
    result = crosscast(*("compile", "recipe.yaml", "--to", "torch", "-o", "o", "--allow-fill-in"))
    assert (result.exit_code, result.stderr.count("warning CC109")) == (0, 2)
    written = load_placed("o/recipe.yaml")
    assert {found.dotted: found.note for found in written.document.marks} == {
        "optimizer.learning_rate": "args.lr is not known",
        "schedule.total_steps": "",
    }
    assert crosscast("check", "o/recipe.yaml").exit_code == 1


def test_other_commands_warn(path: Path) -> None:
    mark(path)
    for command in ("show", "explain"):
        result = crosscast(command, "recipe.yaml")
        assert (result.exit_code, result.stderr.count("warning CC109")) == (0, 2), command
    assert "total_steps: 1000  # FILL IN" in crosscast("show", "recipe.yaml").stdout
    planned = crosscast("plan", "recipe.yaml", "--to", "torch", "--memory", "8GiB")
    assert "warning CC109" in planned.stderr


def test_a_marked_item_of_a_list_marks_its_line(path: Path) -> None:
    text = path.read_text().replace("[0.9, 0.95]", "[0.9,  # FILL IN: beta1\n          0.95]")
    path.write_text(text)
    loaded = load_placed("recipe.yaml")
    assert "betas: [0.9, 0.95]  # FILL IN: beta1" in recipe_text(
        loaded.recipe, loaded.document.marks
    )


def test_a_recipe_that_is_lifted_again_keeps_its_marks(path: Path) -> None:
    mark(path)
    result = crosscast("lift", "recipe.yaml", "-o", "-")
    assert result.exit_code == 0
    assert set(marked(result.stdout)) == {"optimizer.learning_rate", "schedule.total_steps"}


def test_diff_does_not_compare_what_is_still_open(path: Path) -> None:
    mark(path)
    other = path.read_text().replace("total_steps: 1000  # FILL IN", "total_steps: 9")
    Path("other.yaml").write_text(other)
    result = crosscast("diff", "recipe.yaml", "other.yaml", "--json")
    states = {d["field"]: d["state"] for d in json.loads(result.stdout)["differences"]}
    assert states["schedule.total_steps"] == "unknown"
