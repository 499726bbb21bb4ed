"""`cc.explore` and `cc.drift`: what they take, return and write."""

from __future__ import annotations

from pathlib import Path

import pytest

import crosscast as cc
import migration_sources
from crosscast.explore.page import MADE, Page
from crosscast.targets.backend import program_names
from recipe_texts import text_of


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, changes in (("a", {}), ("b", {"seed": "7"})):
        Path(f"{name}.yaml").write_text(text_of(**changes), encoding="utf-8")
    Path("train.py").write_text(migration_sources.APEX, encoding="utf-8")


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a page is not looked at."""
    monkeypatch.setattr("crosscast.explore.page.explorer_page", lambda *_: Page(MADE, ()))


@pytest.mark.usefixtures("_quick")
def test_recipes_are_paths_or_loaded() -> None:
    both = cc.explore([cc.load("a.yaml"), Path("b.yaml")], "torch")
    assert both.names == ("a.yaml", "b.yaml")
    assert cc.explore("train.py", "torch").names == ("train.py",)
    assert cc.explore(cc.load("a.yaml")).targets == (*program_names(),)
    assert both.written is None
    assert both.ok


@pytest.mark.usefixtures("_quick")
def test_pages_are_written_when_asked() -> None:
    found = cc.explore("a.yaml", "torch", out="first.html")
    assert found.written == Path("first.html")
    assert Path("first.html").read_text() == found.page == MADE
    found.write("first.html")
    Path("mine.html").write_text("mine")
    with pytest.raises(cc.DiagnosticError, match="CC501"):
        found.write("mine.html")
    assert found.write("mine.html", force=True) == Path("mine.html")
    with pytest.raises(cc.DiagnosticError, match="CC503"):
        found.write("")


@pytest.mark.parametrize("paths", [[], ["a.yaml"] * 3])
def test_a_page_shows_one_or_two(paths: list[str]) -> None:
    with pytest.raises(cc.DiagnosticError, match="CC021"):
        cc.explore(paths, "torch")


def test_a_target_that_cannot_express_the_recipe_is_told() -> None:
    data = "{source: npz, train: t.npz, eval: e.npz}"
    recipe = cc.loads(text_of(model='{kind: custom, factory: {torch: "m:f"}}', data=data))
    found = cc.explore(recipe, "paddle,torch")
    assert [problem.code for problem in found.diagnostics] == ["CC305"]
    assert not found.ok
    with pytest.raises(cc.DiagnosticError, match="CC305"):
        cc.explore(recipe, "paddle")


def test_a_migration_has_a_page() -> None:
    moved = cc.migrate("train.py", "paddle", set=["data.train=a.npz", "data.eval=b.npz"])
    assert isinstance(moved, cc.Across)
    page = moved.explore(out="moved.html").page
    assert Path("moved.html").read_text(encoding="utf-8") == page
    assert 'data-path="own_model.py"' in page


def test_changes_are_of_three_kinds() -> None:
    found = cc.drift("keras", "3.1", "3.15")
    kinds = (found.behavior, found.parameters, found.names)
    assert all(kinds)
    assert sorted(change.name for kind in kinds for change in kind) == sorted(
        change.name for change in found.changes
    )
    assert found.to_json()["observed"] == [*found.observed]
    assert (found.since, found.until) == ("3.1.1", "3.15.1")
    assert "keras/iterations" in {change.name for change in found.behavior}


def test_what_was_not_observed() -> None:
    for words in (("mxnet",), ("keras", "2.4"), ("paddle", "3.3", "3.1")):
        with pytest.raises(cc.DiagnosticError, match="CC980"):
            cc.drift(*words)
