"""`explain` sees the whole Plan of a recipe in what crosscast emits, and nothing besides."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings

from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.plan_comparison import beside
from lift_round_trip import TARGETS, emitted
from property_settings import examples
from recipe_strategies import TARGETS as FRAMEWORKS
from recipe_strategies import recipes
from recipe_texts import recipe_of
from tiers import cases


@pytest.mark.parametrize(
    "target", cases(TARGETS, quick=FRAMEWORKS, reason="scripts of older dialects, explained")
)
@settings(
    max_examples=examples(2, fresh=8),
    phases=[Phase.generate],
)
@given(recipe=recipes())
def test_every_operation_is_there_and_nothing_else(target: str, recipe: Recipe) -> None:
    _is_explained(recipe, target)


def test_sums_in_float32_of_half_gradients_are_no_average_of_weights() -> None:
    recipe = recipe_of(version="2", precision="{mode: full, compute_dtype: float16, policy: keras}")
    assert emitted(recipe, "jax") is not None
    _is_explained(recipe, "jax")


def _is_explained(recipe: Recipe, target: str) -> None:
    sources = emitted(recipe, target)
    if sources is None:
        return
    lifted = lift(analyse(sources))
    assert lifted.recipe is not None
    (step,) = lifted.analysis.subject.steps
    plan = canonical_plan(lifted.recipe)
    assert [op.kind for op in (*plan.micro, *plan.window)] == [
        op.kind for op in (*canonical_plan(recipe).micro, *canonical_plan(recipe).window)
    ]
    rows = list(beside(step, plan, lifted.fields))
    assert [row for row in rows if "-" in (row[1], row[2])] == []


def test_what_an_edit_takes_out_is_missing() -> None:
    sources = emitted(recipe_of(clipping="{kind: global_norm, max_norm: 1.0}"), "torch")
    assert sources is not None
    edited = [
        type(source)(source.name, source.text.replace("state.optimizer.zero_grad(", "print("))
        for source in sources
    ]
    assert [source.text for source in edited] != [source.text for source in sources]
    lifted = lift(analyse(edited))
    assert lifted.recipe is not None
    rows = beside(lifted.analysis.subject.steps[0], canonical_plan(lifted.recipe), lifted.fields)
    assert [row[1] for row in rows if row[2] == "-"] == ["zero"]
