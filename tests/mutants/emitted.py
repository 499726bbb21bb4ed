"""What the compiler emits for the recipe of the mutants, in every variant of a quick check."""

from __future__ import annotations

from functools import cache

from crosscast.compiler import compile_recipe
from crosscast.readers.recipe_yaml import load
from crosscast_parity.mutation import FILES
from crosscast_parity.planning import recipe_variants
from crosscast_parity.stages import make_stages
from crosscast_parity.stress import stress_recipe
from mutants.trials import RECIPE

Texts = dict[str, str]


@cache
def variants(framework: str) -> dict[str, Texts]:
    """Return the texts of train.py and model.py by variant: main, float32, stress."""
    recipe, _ = stress_recipe(load(str(RECIPE)))
    stage = make_stages(recipe, "quick", windows=None, twins=0)[0]
    found = {}
    for name, variant in recipe_variants(stage.derive(recipe), stage).items():
        (compiled,) = compile_recipe(variant, [framework])
        found[name] = {file: str(compiled.files[file].text) for file in FILES}
    return found
