"""Rows that hold on every framework, because they are about the recipe and not the framework."""

from __future__ import annotations

from crosscast.capability import Row, Verdict
from crosscast.recipe import CustomModel, Recipe


def _own_types(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel) and recipe.precision.mode == "mixed"


def _own_model(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel)


def _uneven_tail(recipe: Recipe) -> bool:
    return recipe.processes > 1 and recipe.accumulation.tail in ("flush", "flush_renormalized")


NEUTRAL_ROWS = (
    Row(
        path="model.factory",
        verdict=Verdict.APPROXIMATE,
        how="unused weights, extra losses and layers of your model behave as the framework has it",
        code="CC302",
        probe="none: a fact about the user's model",
        when=_own_model,
    ),
    Row(
        path="precision.compute_dtype",
        verdict=Verdict.APPROXIMATE,
        how="which operations of your model run in half is the framework's choice",
        code="CC303",
        probe="none: a fact about the user's model",
        when=_own_types,
    ),
    Row(
        path="accumulation.tail",
        verdict=Verdict.APPROXIMATE,
        how="a short last window with fewer rows than processes is left out",
        code="CC304",
        probe="none: a limit of the script, not of the framework",
        when=_uneven_tail,
    ),
)
