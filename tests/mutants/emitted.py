"""What the compiler emits for the recipe of the mutants, in every variant of a quick check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.readers.recipe_yaml import load
from crosscast.recipe.document import Recipe
from crosscast_parity.planning.runs import recipe_variants
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.self_test.mutation import FILES
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


def compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
    """Write the emitted files of every target into a separate folder."""
    for compiled in compile_recipe(recipe, targets):
        files = {f"{compiled.target.folder}/{path}": file for path, file in compiled.files.items()}
        write_files(directory, files, force=True)
