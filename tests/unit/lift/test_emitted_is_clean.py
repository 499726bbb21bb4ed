"""`lint` says nothing about what crosscast emits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from classic_recipes import classic_recipes
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.recipe.warnings import notices
from crosscast.targets.backend import Form
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.sources.grouping import group
from launch_scripts import SCRIPTS
from lift_round_trip import TARGETS, emitted
from property_settings import examples
from recipe_strategies import TARGETS as FRAMEWORKS
from recipe_strategies import recipes
from recipe_texts import FLOAT16, recipe_of
from tiers import cases

ROOT = Path(__file__).parents[3]
GOLDENS = sorted(path for path in (ROOT / "tests/emission/goldens").iterdir() if path.is_dir())
EXAMPLES = sorted(
    {path.parent for path in (ROOT / "examples").glob("*/after/*/*.*") if path.suffix != ".txt"}
)
FORMS: tuple[Form, ...] = ("script", "step")
KINDS = (".py", ".sh", ".json", ".yaml", "requirements.txt")


def findings(sources: list[Source]) -> list[str]:
    return [
        f"{finding.span}: {finding.code} {finding.message}"
        for members in group(sources)
        for finding in lint_sources(members)
    ]


@pytest.mark.parametrize(
    "folder", [*GOLDENS, *EXAMPLES], ids=lambda path: f"{path.parts[-3]}-{path.name}"
)
def test_nothing_is_found_in_what_is_committed(folder: Path) -> None:
    sources = [
        Source(str(path).removesuffix(".txt"), path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.*"))
        if path.name.removesuffix(".txt").endswith(KINDS)
    ]
    assert sources
    assert findings(sources) == []


EVERYTHING = settings(max_examples=examples(3, fresh=16), phases=[Phase.generate, Phase.shrink])


@pytest.mark.parametrize(
    "target", cases(TARGETS, quick=FRAMEWORKS, reason="whole scripts of older dialects")
)
@EVERYTHING
@given(recipe=recipes())
def test_nothing_is_found_in_scripts_of_any_recipe(target: str, recipe: Recipe) -> None:
    sources = emitted(recipe, target, KINDS)
    assert sources is None or findings(sources) == []


@pytest.mark.parametrize(
    "target", cases(TARGETS[:-1], quick=FRAMEWORKS, reason="steps of older dialects")
)
@settings(EVERYTHING, max_examples=examples(2, fresh=6))
@given(recipe=recipes())
def test_nothing_is_found_in_steps_of_any_recipe(target: str, recipe: Recipe) -> None:
    sources = emitted(recipe, target, KINDS, "step")
    assert sources is None or findings(sources) == []


@pytest.mark.parametrize("script", SCRIPTS)
@EVERYTHING
@given(data=st.data())
def test_nothing_is_found_in_flags_of_any_recipe(script: str, data: st.DataObject) -> None:
    recipe = data.draw(classic_recipes(script))
    sources = emitted(recipe, f"paddle@{script}", KINDS)
    assert sources is not None
    assert findings(sources) == []


ODD = (
    {"loss_scaling": "{mode: none}"},
    {"loss_scaling": "{mode: static, scale: 1000.0}"},
    {"loss_scaling": "{mode: dynamic, init_scale: 1000.0}"},
    {"loss_scaling": "{mode: dynamic, init_scale: 0.5, min_scale: 0.25}"},
)


@pytest.mark.parametrize("changes", ODD, ids=lambda changes: changes["loss_scaling"])
@pytest.mark.parametrize(
    "target", cases(["torch", "torch@1.8", "paddle"], quick=["torch"], reason="other targets")
)
def test_what_a_recipe_asks_for_is_said_of_the_recipe(target: str, changes: dict[str, str]) -> None:
    recipe = recipe_of(precision=FLOAT16, **changes)
    assert [notice.code for notice in notices(recipe)] == ["CC213"]
    for form in FORMS:
        sources = emitted(recipe, target, KINDS, form)
        assert sources is not None
        assert findings(sources) == []


def test_what_is_written_into_an_emitted_script_afterwards_is_found() -> None:
    sources = emitted(recipe_of(precision=FLOAT16), "torch", KINDS)
    assert sources is not None
    edited = [
        Source(source.name, source.text.replace("INIT_SCALE,", "2^16,")) for source in sources
    ]
    assert [finding.split()[1] for finding in findings(edited)] == ["CL212"]


def test_without_its_scaler_an_emitted_script_is_a_script_as_any_other() -> None:
    sources = emitted(recipe_of(precision=FLOAT16, loss_scaling="{mode: none}"), "torch", KINDS)
    assert sources is not None
    kept = [
        Source(
            source.name, source.text.replace("\nSETTINGS = ", "\nINIT_SCALE = 65536.0\nSETTINGS = ")
        )
        for source in sources
    ]
    assert "CL206" in {finding.split()[1] for finding in findings(kept)}
