"""Compile a recipe into one folder per target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe
    from crosscast.targets.backend import Form


def compile_to_folders(
    recipe: Recipe, targets: Sequence[str], directory: Path, *, form: Form = "script"
) -> None:
    """Write the scripts or steps of a recipe, one folder per target.

    Imports are inside the function because commands refer to it before they parse arguments.
    """
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import write_files

    files = {
        f"{compiled.target.folder}/{path}": file
        for compiled in compile_recipe(recipe, targets, form=form)
        for path, file in compiled.files.items()
    }
    write_files(directory, files, force=True)
