"""What a configuration of a layer says exactly, lift reads back from it."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from configuration_recipes import TARGETS, configurable_recipes
from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import Verdict
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.recipe_diff import Side, differences
from property_settings import examples

KEPT = (Verdict.EXACT, Verdict.ADAPTED)
QUICK = settings(max_examples=examples(25), phases=[Phase.generate, Phase.shrink])


def sources_of(compiled: Compiled) -> list[Source]:
    return [Source(f"out/{path}", file.text) for path, file in compiled.files.items()]


def side(recipe: Recipe) -> Side:
    return Side(path="", values=flat(recipe), places={}, unknown=frozenset())


def lost(recipe: Recipe, compiled: Compiled) -> dict[str, tuple[object, object]]:
    """Return what is said exactly and read back as something else."""
    found = lift(analyse(sources_of(compiled)))
    assert found.recipe is not None, found.diagnostics
    exact = {judgement.path for judgement in compiled.judgements if judgement.row.verdict in KEPT}
    if "accumulation.tail" not in exact:
        # Whether the mean of the micro-batches is that of the rows depends on it.
        exact.discard("accumulation.normalize_by")
    return {
        d.path: (d.left, d.right)
        for d in differences(side(recipe), side(found.recipe))
        if d.path in exact
    }


@pytest.mark.parametrize("target", TARGETS)
@QUICK
@given(data=st.data())
def test_every_field_that_is_expressed_comes_back(target: str, data: st.DataObject) -> None:
    recipe = data.draw(configurable_recipes(target))
    try:
        (compiled,) = compile_recipe(recipe, [target])
    except DiagnosticError:
        return
    assert lost(recipe, compiled) == {}
