"""What the compiler emits for the recipe of the mutants, in every variant of a quick check."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.planning.runs import recipe_variants
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.self_test.mutation import Mutation
from mutants.trials import RECIPE

Texts = dict[str, str]


@cache
def variants(framework: str) -> dict[str, Texts]:
    """Return the texts of the Python files by variant: main, float32, stress, dropout."""
    recipe, _ = stress_recipe(load(str(RECIPE)))
    stage = make_stages(recipe, "quick", windows=None, twins=0)[0]
    derived = recipe_variants(stage.derive(recipe), stage)
    return {name: texts_for(variant, framework) for name, variant in derived.items()}


def texts_for(recipe: Recipe, framework: str) -> Texts:
    """Return the texts of the Python files that a recipe compiles to, by their paths."""
    (compiled,) = compile_recipe(recipe, [framework])
    return {path: str(file.text) for path, file in compiled.files.items() if path.endswith(".py")}


def undefined_names(framework: str, changes: Iterable[Mutation], folder: Path) -> str:
    """Return what ruff says of names that the files with a change use and nothing defines.

    Args:
        framework: whose files are changed.
        changes: one at a time, in every variant.
        folder: empty; gets the changed files.
    """
    for change in changes:
        for variant, texts in variants(framework).items():
            for name, text in change.mutate(texts).items():
                path = folder / change.name / variant / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
    command = [*ruff, "--select=F821", "--output-format=concise", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout


def compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
    """Write the emitted files of every target into a separate folder."""
    for compiled in compile_recipe(recipe, targets):
        files = {f"{compiled.target.folder}/{path}": file for path, file in compiled.files.items()}
        write_files(directory, files, force=True)
