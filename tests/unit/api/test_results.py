"""What functions return: frozen, short in words, tables in a notebook; and what they raise."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import crosscast as cc
import migration_sources
from recipe_texts import FLOAT16, text_of

RECIPE = text_of(precision=FLOAT16)
BROKEN = text_of(seed="-1", lr="1")
SCRIPT = migration_sources.APEX

RESULTS: dict[str, Callable[[], Any]] = {
    "load": lambda: cc.load("r.yaml"),
    "loads": lambda: cc.loads(RECIPE),
    "show": lambda: cc.show(Path("r.yaml")),
    "check": lambda: cc.check(["r.yaml", "broken.yaml"], "torch"),
    "compile": lambda: cc.compile("r.yaml", ["torch", "paddle"]),
    "explain": lambda: cc.explain("r.yaml", "torch,paddle"),
    "drift": lambda: cc.drift("keras", "3.4", "3.6", name="iterations"),
    "explore": lambda: cc.explore("r.yaml", "torch"),
    "explain a program": lambda: cc.explain("train.py"),
    "lift": lambda: cc.lift("train.py"),
    "lint": lambda: cc.lint(["train.py"], fix=True),
    "lint_rules": lambda: cc.lint_rules("CL101"),
    "diff": lambda: cc.diff("r.yaml", "train.py"),
    "migrate in place": lambda: cc.migrate("train.py", "torch.amp", verify=True, experimental=True),
    "migrate across": lambda: cc.migrate(
        "train.py", "paddle", set=["data.train=a.npz", "data.eval=b.npz"]
    ),
    "migrate_changes": cc.migrate_changes,
    "matrix": lambda: cc.matrix("dialects"),
    "init": cc.init,
    "plan": lambda: cc.plan("r.yaml", "torch", memory="16GiB"),
    "data_nli_synthetic": lambda: cc.data_nli_synthetic(train_rows=4, eval_rows=4),
}
"""Calls that write nothing and run nothing."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("r.yaml", RECIPE), ("broken.yaml", BROKEN), ("train.py", SCRIPT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


class Tags(HTMLParser):
    """Checks that every element is closed, and keeps the text and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(result: Any) -> Tags:
    tags = Tags()
    tags.feed(result._repr_html_())
    tags.close()
    assert tags.open == []
    assert "script" not in tags.tags
    return tags


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_frozen_shows_itself_and_leaves_nothing_behind(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    result = RESULTS[name]()
    line, words, tags = repr(result), str(result), shown(result)
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
    assert capsys.readouterr() == ("", "")
    assert len(line.splitlines()) == 1
    assert len(line) < 300
    assert words
    assert tags.text.strip()
    for field in dataclasses.fields(result):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)
    if name != "init":
        assert isinstance(result, cc.Result)
        assert len(result.head) == 3
        assert all(text.partition(":")[2].strip() and "\n" not in text for text in result.head)
        narrow = result.screen(all=True, width=80)
        assert narrow.split() == result.screen(all=True).split()
        assert name in ("load", "loads", "show") or words.startswith("\n".join(result.head))
        assert isinstance(result.exit_code, cc.Exit)
        assert result.ok == (result.exit_code == 0)
        assert all(isinstance(found, cc.Diagnostic) for found in result.diagnostics)


def test_html_escapes_what_files_say() -> None:
    evil = "<script>alert(1)</script>"
    Path("evil.py").write_text(f"import torch\n# {evil}\n" + SCRIPT, encoding="utf-8")
    result = cc.migrate("evil.py", "torch.amp", experimental=True)
    assert evil in shown(result).text
    assert evil not in result._repr_html_()


@pytest.mark.parametrize("suffix", ["json", "str"])
def test_a_recipe_is_typed_and_complete(suffix: str) -> None:
    recipe = cc.load("r.yaml")
    assert recipe.fields.optimizer.learning_rate == 1e-3
    assert recipe.fields.loss_scaling.mode == "dynamic"
    assert recipe == cc.loads(recipe.text)
    if suffix == "json":
        assert recipe.to_json()["optimizer"]["name"] == "adamw"
    else:
        assert "init_scale: 65536.0" in str(recipe)


def test_files_are_written_when_asked(folder: Path) -> None:
    made = cc.compile("r.yaml", "torch", out="first")
    assert made.written == tuple(Path("first") / path for path in sorted(made.files))
    made.write("second")
    assert Path("second/torch/train.py").read_text() == made.files["torch/train.py"]
    assert os.access("second/torch/launch.sh", os.X_OK)
    assert made.files.is_program("torch/launch.sh")
    Path("second/torch/train.py").write_text("mine")
    with pytest.raises(cc.DiagnosticError, match="CC501"):
        made.write("second")
    assert Path("second/torch/train.py").read_text() == "mine"
    made.write("second", force=True)
    assert Path("second/torch/train.py").read_text() != "mine"


def test_a_lifted_recipe_is_marked_and_can_be_compiled() -> None:
    lifted = cc.lift("train.py")
    recipe = lifted.recipe
    assert "optimizer.learning_rate" in {row[0] for row in lifted.runs[0].rows}
    assert recipe.fields.optimizer.name == "sgd"
    assert recipe.open
    with pytest.raises(cc.DiagnosticError, match="CC109"):
        cc.compile(recipe, "torch", form="step")
    assert cc.compile(recipe, "torch", form="step", allow_fill_in=True).files
    assert lifted.write("recipes/") == (Path("recipes/train.recipe.yaml"),)
    assert Path("recipes/train.recipe.yaml").read_text() == lifted.runs[0].text


def test_changes_of_programs_are_written_when_asked() -> None:
    found = cc.migrate("train.py", "torch.amp", experimental=True)
    assert "+++ b/train.py" in found.diff
    assert Path("train.py").read_text() == SCRIPT
    with pytest.raises(cc.DiagnosticError, match="CC016"):
        found.write("elsewhere")
    assert found.write() == (Path("train.py"),)
    assert Path("train.py").read_text() == found.changed["train.py"]
    with pytest.raises(cc.DiagnosticError, match="changed in the meantime"):
        found.write()


def test_a_person_or_a_program_decides_about_changes() -> None:
    asked = []

    def ask(question: Any) -> Any:
        asked.append(question.diff)
        return "no"

    found = cc.migrate("train.py", "torch.amp", ask=ask, write=True, experimental=True)
    assert len(asked) == 1
    assert not found.changed
    assert not found.ok
    assert Path("train.py").read_text() == SCRIPT


ERRORS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "no file": (lambda: cc.load("missing.yaml"), "CC001", 2),
    "a wrong field": (lambda: cc.load("broken.yaml"), "CC104", 1),
    "a wrong text": (lambda: cc.loads("- a"), "CC103", 1),
    "no target": (lambda: cc.compile("r.yaml", "tensorfow"), "CC106", 2),
    "no targets": (lambda: cc.compile("r.yaml", []), "CC106", 2),
    "no choice": (
        lambda: cc.compile("r.yaml", "torch", form="scrip"),  # type: ignore[arg-type]
        "CC016",
        2,
    ),
    "no number": (lambda: cc.plan("r.yaml", memory="1GiB", answers=0), "CC016", 2),
    "no time": (lambda: cc.lift("train.py", timeout=0), "CC016", 2),
    "a null character": (lambda: cc.load("a\0b"), "CC504", 2),
    "a long name": (lambda: cc.lint("a" * 5000, baseline="b"), "CC001", 2),
    "no rule": (lambda: cc.lint("train.py", select="XX"), "CC951", 2),
    "nothing named": (lambda: cc.lint([]), "CC951", 2),
    "no limit": (lambda: cc.plan("r.yaml"), "CC463", 2),
    "no api": (lambda: cc.migrate("train.py", "torch.amp2"), "CC970", 2),
    "no one run": (lambda: cc.lift(["r.yaml", "train.py"]).recipe, "CC919", 2),
    "no folder": (lambda: cc.migrate("train.py", "paddle").write(), "CC016", 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_fails_is_one_exception_with_diagnostics(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call, code, exit_code = ERRORS[name]
    with pytest.raises(cc.DiagnosticError) as caught:
        call()
    error = caught.value
    assert code in [found.code for found in error.diagnostics]
    assert error.exit_code == exit_code
    assert code in str(error)
    assert capsys.readouterr() == ("", "")


def test_an_error_says_where_and_what_to_do() -> None:
    with pytest.raises(cc.DiagnosticError) as caught:
        cc.loads(RECIPE.replace("float16", "fp16"), name="r.yaml")
    (found,) = caught.value.diagnostics
    assert (found.code, found.path, found.hint) == (
        "CC104",
        "precision.compute_dtype",
        "did you mean float16?",
    )
    assert str(found.span) == str(caught.value).split(": ")[0]
    assert "^^^^" in str(caught.value)


def test_errors_within_a_result_can_be_raised() -> None:
    found = cc.check("broken.yaml")
    assert (found.ok, found.exit_code) == (False, cc.Exit.FINDINGS)
    assert "Found 2 errors in 1 recipe." in str(found)
    with pytest.raises(cc.DiagnosticError, match="CC10"):
        found.raise_errors()
    assert cc.check("r.yaml").raise_errors().ok
