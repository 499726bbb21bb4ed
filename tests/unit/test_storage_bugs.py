"""The bugs of storage are sound: every one fits the emitted files of both half types."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from functools import cache

import pytest

from crosscast_parity.planning.runs import recipe_variants
from mutants import storage_page
from mutants.emitted import Texts, texts_for
from mutants.run import FRAMEWORKS
from mutants.storage import DTYPES, bugs_of, recipe_in, stages_of
from mutants.storage_catalogue import EXEMPT, MISSED, TITLES

FLOAT16_ONLY = {"stored_other_half", "gradients_other_half"}
WITHOUT_HALF = {
    "attention_dropout_missing",
    "attention_dropout_twice",
    "attention_mask_on_queries",
    "attention_mask_weak",
    "attention_scale",
    "attention_unscaled",
}
"""Bugs that scripts in float32 can have as well."""


@cache
def variants(framework: str, dtype: str) -> Mapping[str, Texts]:
    """Return the emitted files by variant of the recipe, as a comparison compiles them."""
    recipe = recipe_in(dtype)
    (stage,) = stages_of(recipe, "gate")
    derived = recipe_variants(stage.derive(recipe), stage)
    return {name: texts_for(variant, framework) for name, variant in derived.items()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_there_are_enough_and_all_have_a_title(framework: str) -> None:
    names = [bug.name for bug in bugs_of(framework)]
    assert len(set(names)) == len(names) >= 30
    assert set(names) <= set(TITLES)


def test_every_title_is_of_a_bug() -> None:
    assert set(TITLES) == {bug.name for name in FRAMEWORKS for bug in bugs_of(name)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_bug_fits_and_is_a_program(framework: str, dtype: str) -> None:
    for bug in bugs_of(framework):
        changed = {
            name: bug.mutate(texts)
            for name, texts in variants(framework, dtype).items()
            if name in ("main", "stress")
        }
        fits = dtype == "float16" or bug.name not in FLOAT16_ONLY
        for variant, files in changed.items():
            assert bool(files) == fits, (bug.name, variant)
            for name, text in files.items():
                assert text != variants(framework, dtype)[variant][name], bug.name
                ast.parse(text, f"{framework}-{bug.name}-{name}")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_bugs_of_storage_stay_out_of_float32(framework: str) -> None:
    texts = variants(framework, "float16")["float32"]
    found = {bug.name for bug in bugs_of(framework) if bug.mutate(texts)}
    assert found <= WITHOUT_HALF


def test_the_page_counts_what_was_caught_and_names_the_rest() -> None:
    def row(name: str, level: str, dtype: str = "float16") -> dict[str, str]:
        return {
            "framework": "paddle",
            "dtype": dtype,
            "name": name,
            "level": level,
            "depth": "gate",
        }

    missed, exempt = "copies_stale_in_evaluation", "dropout_scale_half"
    rows = [row("clean", ""), row("loss_half", "L0d"), row(missed, ""), row(exempt, "")]
    text = storage_page.page([*rows, row("clean", "L0d", "bfloat16")])
    assert "| Paddle | float16 | 3 | 1 | 1 | 1 | not accused |" in text
    assert "| Paddle | bfloat16 | 0 | 0 | 0 | 0 | accused |" in text
    assert f"- `{exempt}`, exempt: {EXEMPT[exempt]}." in text
    assert (
        f"- `{missed}` (Paddle, float16, depth gate), missed: {MISSED['paddle', missed]}." in text
    )
    assert "not explained yet" in storage_page.page([row("table_half", "")])
    assert f"| `loss_half` | {TITLES['loss_half']} |  |  |  |  | L0d |  |  |  |" in text


def test_the_page_is_that_of_its_figures() -> None:
    rows = json.loads(storage_page.DATA.read_text())
    assert storage_page.PAGE.read_text() == storage_page.page(rows)
    named = {row["name"] for row in rows} - {"clean"}
    assert named <= set(TITLES)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "paddle"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nineteen_of_twenty_bugs_are_caught(framework: str, dtype: str) -> None:
    rows = [
        row
        for row in json.loads(storage_page.DATA.read_text())
        if (row["framework"], row["dtype"]) == (framework, dtype) and row["name"] not in EXEMPT
    ]
    bugs = [row for row in rows if row["name"] != "clean"]
    assert len(bugs) >= 20
    assert sum(bool(row["level"]) for row in bugs) >= 0.95 * len(bugs)
    assert not [row for row in rows if row["name"] == "clean" and row["level"]]
