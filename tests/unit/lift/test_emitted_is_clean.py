"""`lint` says nothing about what crosscast emits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from crosscast.lint.engine import lint_sources
from crosscast.lint.grouping import group
from crosscast.recipe import NoLossScaling, Recipe
from crosscast.source import Source
from lift_round_trip import emitted
from recipe_strategies import recipes

ROOT = Path(__file__).parents[3]
GOLDENS = sorted(one for one in (ROOT / "tests/emission/goldens").iterdir() if one.is_dir())
EXAMPLES = sorted(
    {path.parent for path in (ROOT / "examples").glob("*/after/*/*.*") if path.suffix != ".txt"}
)
KINDS = (".py", ".sh", ".json", ".yaml", "requirements.txt")


def findings(sources: list[Source]) -> list[str]:
    return [
        f"{one.span}: {one.code} {one.message}"
        for members in group(sources)
        for one in lint_sources(members)
    ]


@pytest.mark.parametrize(
    "folder", [*GOLDENS, *EXAMPLES], ids=lambda path: f"{path.parts[-3]}-{path.name}"
)
def test_nothing_is_found_in_what_is_committed(folder: Path) -> None:
    sources = [
        Source(str(folder / path.name.removesuffix(".txt")), path.read_text(encoding="utf-8"))
        for path in sorted(folder.iterdir())
        if path.name.removesuffix(".txt").endswith(KINDS)
    ]
    assert sources
    assert findings(sources) == []


def _meant(recipe: Recipe) -> bool:
    """Whether a recipe asks for nothing that lint rightly warns of."""
    scaling = recipe.loss_scaling
    if isinstance(scaling, NoLossScaling):
        return recipe.half != "float16"
    first = scaling.scale if scaling.mode == "static" else scaling.init_scale
    return first >= 1 and math.frexp(first)[0] == 0.5


@pytest.mark.parametrize("target", ["torch", "torch@1.8", "tensorflow", "paddle"])
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(recipe=recipes().filter(_meant))
def test_nothing_is_found_in_scripts_of_recipes_that_mean_well(target: str, recipe: Recipe) -> None:
    sources = emitted(recipe, target, KINDS)
    assert sources is None or findings(sources) == []
