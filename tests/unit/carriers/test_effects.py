"""What other values of a field change: lines, gaps, operations."""

from __future__ import annotations

from pathlib import Path

from crosscast.carriers.effects import OtherRecipes, effects
from crosscast.carriers.text_changes import Line, line_changes
from crosscast.recipe.load import load

RECIPE = load(str(Path(__file__).parents[3] / "examples" / "bert-small" / "recipe.yaml"))
BASE = {"a.py": ["one", "two", "", "three"], "b.py": ["same"]}


def test_changed_and_missing_lines() -> None:
    other = {"a.py": ["one", "2", "", "three"], "b.py": ["same"]}
    assert list(line_changes(BASE, other)) == [("changed", Line("a.py", 2, "two"))]
    assert list(line_changes(BASE, {"a.py": BASE["a.py"]})) == [
        ("changed", Line("b.py", 1, "same"))
    ]


def test_more_lines_are_a_gap_behind_a_line_with_text() -> None:
    other = {"a.py": ["one", "two", "", "new", "three"], "b.py": ["same"]}
    assert list(line_changes(BASE, other)) == [("gap", Line("a.py", 2, "two"))]


def test_lines_before_everything_are_no_gap() -> None:
    assert list(line_changes({"a.py": ["one"]}, {"a.py": ["new", "one"]})) == []


def test_other_recipes_are_made_once() -> None:
    others = OtherRecipes(RECIPE)
    first = next(others.of("optimizer.weight_decay"))
    again = list(others.of("optimizer.weight_decay"))
    assert again[0] is first
    assert [id(recipe) for recipe in others.of("optimizer.weight_decay")] == list(map(id, again))
    assert all(recipe.optimizer.weight_decay != 0.01 for recipe in again)


def test_effects_on_the_plan() -> None:
    found = effects(OtherRecipes(RECIPE), "torch")
    assert {kind for effect in found["clipping.max_norm"] for kind in effect.operations} == {"clip"}
    assert not any(effect.lines for effect in found["data.workers"])
    assert all(effect.gaps for effect in found["data.workers"])
