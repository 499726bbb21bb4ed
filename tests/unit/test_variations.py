"""The table of what else a recipe could say, and the recipes it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from crosscast.recipe import rules
from crosscast.recipe.document import Recipe
from crosscast.variations.changes import changed, value_at
from crosscast.variations.companions import SECTIONS
from crosscast.variations.table import TABLE, UNFIT, paths_of, shown_path, variations, vary
from crosscast_parity.exercise.fields import fields_of
from crosscast_parity.exercise.rules import rule_for
from parity_recipes import stress
from property_settings import examples
from recipe_strategies import recipes

BASE = stress()


def values(path: str, recipe: Recipe = BASE, *, unfit: bool = False) -> list[Any]:
    return [variation.value for variation in variations(recipe, path, unfit=unfit)]


@pytest.mark.parametrize(
    ("path", "some"),
    [
        ("optimizer.eps", {1e-6, 1e-7}),
        ("optimizer.betas.1", {0.98, 0.95}),
        ("optimizer.weight_decay", {0.0, 0.2}),
        ("optimizer.no_decay", {(), ("bias",), ("layer_norm",)}),
        ("optimizer.name", {"adam", "sgd", "lamb"}),
        ("optimizer.eps_placement", {"before_correction"}),
        ("optimizer.bias_correction", {False}),
        ("clipping.kind", {"none", "per_param_norm", "value"}),
        ("clipping.max_norm", {0.7}),
        ("schedule.warmup_steps", {21, 19, 0}),
        ("schedule.total_steps", {128}),
        ("schedule.name", {"cosine", "constant", "polynomial"}),
        ("schedule.tick", {"attempt"}),
        ("loss_scaling.mode", {"static", "none"}),
        ("loss_scaling.growth_interval", {10, 12}),
        ("loss_scaling.growth_factor", {4.0, 8.0}),
        ("loss_scaling.backoff_factor", {0.25}),
        ("loss_scaling.hysteresis", {2}),
        ("loss_scaling.init_scale", {256.0}),
        ("accumulation.normalize_by", {"microbatch", "token"}),
        ("accumulation.tail", {"flush", "drop", "carry"}),
        ("accumulation.steps", {2, 3, 5, 8}),
        ("precision.compute_dtype", {"float32", "bfloat16"}),
        ("precision.ops.reductions", {"half", "float32_stored_half"}),
        ("model.layer_norm_eps", {1e-5, 1e-3}),
    ],
)
def test_the_common_mistakes_are_in_the_table(path: str, some: set[Any]) -> None:
    assert some <= set(values(path))


@settings(max_examples=examples(20))
@given(recipes())
def test_every_variation_is_a_valid_recipe_that_differs_where_it_says(recipe: Recipe) -> None:
    data = recipe.model_dump()
    for variation in variations(recipe):
        assert variation.fits
        assert rules.check(variation.recipe) == []
        assert variation.recipe != recipe
        other = variation.recipe.model_dump()
        expected = changed(data, dict(_whole_section(variation.path, other)) or variation.changes)
        assert variation.recipe == Recipe.model_validate(expected)  # scales are rounded to float32


def _whole_section(path: str, other: dict[str, Any]) -> list[tuple[str, Any]]:
    """A section of another kind is replaced as a whole, defaults included."""
    section = path.split(".")[0]
    return [(section, other[section])] if path in SECTIONS else []


@settings(max_examples=examples(20))
@given(recipes())
def test_what_no_recipe_may_ask_for_is_marked(recipe: Recipe) -> None:
    for variation in variations(recipe, unfit=True):
        assert variation.fits == (rules.check(variation.recipe) == [])
        assert variation.fits or variation.path.startswith(UNFIT)


@settings(max_examples=examples(40))
@given(recipes())
def test_every_field_of_a_recipe_has_variations_or_a_rule(recipe: Recipe) -> None:
    known = {path for path, _ in TABLE}
    lost = [path for path in fields_of(recipe) if path not in known and rule_for(path) is None]
    assert lost == []


def test_the_table_names_every_field_once() -> None:
    paths = [path for path, _ in TABLE]
    assert len(set(paths)) == len(paths)


def test_another_optimizer_keeps_what_both_have() -> None:
    (adam,) = (
        variation for variation in variations(BASE, "optimizer.name") if variation.value == "adam"
    )
    expected = BASE.optimizer.model_dump() | {"name": "adam"}
    assert adam.recipe.optimizer.model_dump() == expected


def test_another_clipping_keeps_the_limit() -> None:
    (value,) = (
        variation for variation in variations(BASE, "clipping.kind") if variation.value == "value"
    )
    assert value.recipe.clipping.model_dump() == {"kind": "value", "max_value": 0.35, "exempt": ()}


def test_other_micro_batches_leave_the_window_as_it_is_where_they_can() -> None:
    sizes = {
        variation.value: (
            variation.recipe.accumulation.steps,
            variation.recipe.batch.global_batch_size,
        )
        for variation in variations(BASE, "batch.micro_batch_size")
    }
    assert sizes == {8: (2, 16), 2: (8, 16), 5: (4, 20), 3: (4, 12)}


def test_a_half_type_under_loss_scaling_is_for_checks_alone() -> None:
    found = list(variations(BASE, "precision.compute_dtype", unfit=True))
    unfit = [variation for variation in found if not variation.fits]
    assert {variation.value for variation in unfit} == {"float32", "bfloat16"}
    assert all(variation.recipe.scaling_on for variation in unfit)
    fit = [variation for variation in found if variation.fits]
    assert all(not variation.recipe.scaling_on for variation in fit)


def test_what_a_field_says_already_is_no_variation() -> None:
    assert vary(BASE, "optimizer.eps", 1e-8) is None
    assert 1e-8 not in values("optimizer.eps")
    assert vary(BASE, "optimizer.eps", -1.0) is None
    assert vary(BASE, "schedule.warmup_steps", 65) is None
    variation = vary(BASE, "schedule.warmup_steps", 33)
    assert variation is not None
    assert str(variation) == "schedule.warmup_steps: 33"


def test_items_of_a_pair_are_fields_of_their_own() -> None:
    variation = vary(BASE, "optimizer.betas.1", 0.98)
    assert variation is not None
    assert value_at(variation.recipe.model_dump(), "optimizer.betas") == (0.9, 0.98)
    assert shown_path(variation.path) == "optimizer.betas[1]"


def test_fields_of_other_kinds_are_not_there() -> None:
    paths = paths_of(BASE)
    assert "clipping.max_value" not in paths
    assert "optimizer.eps.0" not in paths
    assert "loss_scaling.scale" not in paths
    with pytest.raises(KeyError):
        list(variations(BASE, "clipping.max_value"))
