"""Recipes with mistakes: the code, the place and the hint of every rule about single fields."""

from __future__ import annotations

import json
import re

import pytest

from cpu_cost import cpu_seconds
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import schema_text
from crosscast.recipe.suggestions import suggest, suggest_field
from crosscast.recipe.validation_errors import PATTERNS
from recipe_texts import BASE, build, found, mistakes, problems_of, recipe_of, text_of


@pytest.mark.parametrize(("changes", "expected"), mistakes("fields"))
def test_one_mistake_is_one_diagnostic(
    changes: dict[str, str | None], expected: tuple[str, str, str]
) -> None:
    assert found(text_of(**changes)) == [expected]


def test_integers_are_fine_where_floats_are_wanted() -> None:
    rate = recipe_of(optimizer="{name: sgd, learning_rate: 1}").optimizer.learning_rate
    assert (rate, type(rate)) == (1.0, float)


def hint_of(**changes: str | None) -> str:
    (problem,) = problems_of(text_of(**changes))
    return problem.hint


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"version": "3"}, "update crosscast to read this recipe"),
        ({"version": "0"}, "write `version: 2`"),
        ({"version": None}, "add the line `version: 2`"),
        ({"loss_scale": "1"}, "write `loss_scaling: {mode: static, scale: 1}`"),
        ({"grad_clip": "1"}, "write `clipping: {kind: global_norm, max_norm: 1}`"),
        ({"scheduler": "1"}, "did you mean schedule?"),
        ({"seeds": "1"}, "did you mean seed?"),
        ({"lr": "1"}, "did you mean optimizer.learning_rate?"),
        (
            {"max_norm": "1", "clipping": "{kind: global_norm, max_norm: 1}"},
            "did you mean clipping.max_norm?",
        ),
        ({"precision": "{mode: mixed, compute_dtype: fp16}"}, "did you mean float16?"),
        ({"precision": "{mode: mixed, compute_dtype: bf16}"}, "did you mean bfloat16?"),
        ({"optimizer": "{name: Adam, learning_rate: 1}"}, "did you mean adam?"),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, wd: 1}"},
            "did you mean optimizer.weight_decay?",
        ),
        (
            {"optimizer": "{name: adam, learning_rate: 1, epsilon: 1}"},
            "did you mean optimizer.eps?",
        ),
        ({"accumulation": "{gradient_accumulation_steps: 2}"}, "did you mean accumulation.steps?"),
        ({"batch": "{batch_size: 2}"}, "did you mean batch.micro_batch_size?"),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, eps: 1}"},
            "only with name: adafactor, adam, adamw, lamb; otherwise remove it",
        ),
        (
            {"loss_scaling": "{mode: none, init_scale: 2}"},
            "only with mode: dynamic; otherwise remove it",
        ),
        (
            {"optimizer": "{name: sgd, learning_rate: 1, colour: 1}"},
            "known fields: name, learning_rate, no_decay, groups, momentum, nesterov, "
            "rate_in_momentum, weight_decay; your own keys must start with x-",
        ),
        (
            {"model": "{kind: bert}"},
            "set model.preset (tiny, mini, small, base, large) or all four sizes",
        ),
        ({"batch": "{}"}, "set micro_batch_size, or global_batch_size and accumulation.steps"),
    ],
    ids=str,
)
def test_hints(changes: dict[str, str | None], hint: str) -> None:
    assert hint_of(**changes) == hint


def test_problems_inside_lists_and_inner_sections_have_places() -> None:
    text = text_of(
        precision="{mode: mixed, compute_dtype: float16, ops: {pointwize: compute, losses: half}}",
        optimizer="{name: lamb, learning_rate: 1, groups: [{parameters: ['a.*', 'b c']}, "
        "{parameters: [], ratefactor: 2}, {parameters: ['*'], weight_decay: -1}, x]}",
    )
    assert found(text) == [
        ("CC104", "7:73", "optimizer.groups.0.parameters.1"),
        ("CC104", "7:95", "optimizer.groups.1.parameters"),
        ("CC101", "7:99", "optimizer.groups.1.ratefactor"),
        ("CC104", "7:149", "optimizer.groups.2.weight_decay"),
        ("CC103", "7:154", "optimizer.groups.3"),
        ("CC101", "9:56", "precision.ops.pointwize"),
        ("CC105", "9:84", "precision.ops.losses"),
    ]
    hints = [problem.hint for problem in problems_of(text)]
    assert "did you mean precision.ops.pointwise?" in hints
    assert "did you mean optimizer.groups.1.rate_factor?" in hints


def test_free_notes_may_stand_anywhere() -> None:
    text = text_of(
        precision="{mode: mixed, compute_dtype: float16, ops: {x-a: [1, {b: c}], losses: compute}}",
        optimizer="{name: lion, learning_rate: 1, groups: [{x-note: 1, parameters: ['*']}]}",
    )
    assert problems_of(text) == ()


def test_suggestions() -> None:
    assert suggest("FLOAT6", ["float16", "float32"]) == "float16"
    assert suggest("fp16", ["bert", "custom"]) is None
    assert suggest("zzz", []) is None
    assert suggest_field(("nothing_like_it",), {}) == ""


def test_all_problems_are_found_at_once_and_sorted() -> None:
    text = text_of(
        name="a b",
        seed="-1",
        optimizer="{name: adamw, learning_rate: '1', bta: 1}",
        schedule="{}",
        version="9",
    )
    assert [(code, place) for code, place, _ in found(text)] == [
        ("CC105", "1:10"),
        ("CC104", "2:7"),
        ("CC103", "7:41"),
        ("CC101", "7:46"),
        ("CC102", "8:1"),
        ("CC104", "9:7"),
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"batch": "{micro_batch_size: 'x'}"}, "batch.micro_batch_size"),
        ({"batch": "{global_batch_size: 0}"}, "batch.global_batch_size"),
        ({"accumulation": "{steps: 'x'}", "batch": "{global_batch_size: 8}"}, "accumulation.steps"),
        ({"distributed": "{processes_per_node: 'x'}"}, "distributed.processes_per_node"),
        ({"model": "{kind: bert, preset: tiney}"}, "model.preset"),
        ({"model": "{kind: bert, perset: tiny}"}, "model.perset"),
        ({"optimizer": "{name: adam, learnin_rate: 1}"}, "optimizer.learnin_rate"),
    ],
    ids=str,
)
def test_what_follows_from_a_mistake_is_not_reported(
    changes: dict[str, str | None], path: str
) -> None:
    assert [p for _, _, p in found(text_of(**changes))] == [path]


@pytest.mark.parametrize("text", ["- 1", "hello", "3", "[]"])
def test_a_recipe_is_a_mapping(text: str) -> None:
    assert found(text) == [("CC103", "1:1", "")]


def test_free_keys_are_ignored_at_the_top_and_in_sections() -> None:
    changes = {
        section: f"{value[:-1]}, x-note: [1, {{a: null}}]}}"
        for section, value in BASE.items()
        if value.startswith("{")
    }
    text = text_of(**changes) + "x-top: {deep: [anything]}\nx-: 1\n"
    assert build(text) == build(text_of())


def test_free_keys_do_not_fill_in_for_fields() -> None:
    assert found(text_of(batch="{x-micro_batch_size: 1}"))[0][0] == "CC102"


def test_a_loaded_recipe_is_frozen() -> None:
    recipe = build(text_of())
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 2  # type: ignore[misc]
    assert isinstance(recipe, Recipe)


def test_thousands_of_problems_are_found_quickly() -> None:
    text = text_of() + "".join(f"learning_rat{i}: 1\n" for i in range(3000))
    found: list[int] = []
    assert cpu_seconds(lambda: found.append(len(problems_of(text)))) < 10
    assert found == [3000]


def test_every_pattern_of_a_recipe_has_words() -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', schema_text()))
    keys = re.findall(r'"patternProperties": \{\s*("(?:[^"\\]|\\.)*")', schema_text())
    found = {json.loads(pattern) for pattern in (*patterns, *keys)}
    assert len(found) >= 6
    assert found - {"^x-"} == PATTERNS.keys()
