"""The reader of recipe files."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.recipe import Recipe
from crosscast.source import Source, read_source
from crosscast.validate import build_recipe
from crosscast.yaml_source import MAX_BYTES, parse


@dataclass(frozen=True, slots=True)
class RecipeReader:
    """Reads `recipe.yaml`."""

    name: str = "recipe"

    def sniff(self, source: Source) -> bool:
        """Return whether the text looks like a recipe."""
        return any(line.startswith("version:") for line in source.text.splitlines())

    def read(self, source: Source) -> Recipe:
        """Return the recipe, or raise DiagnosticError with every problem of the file."""
        return build_recipe(parse(source.text, source.name))


READER = RecipeReader()


def load(path: str) -> Recipe:
    """Read and validate a recipe file; `-` reads stdin.

    Raises:
        DiagnosticError: CC0xx for the file, CC1xx for fields, CC2xx for contradictions.
    """
    return READER.read(read_source(path, max_bytes=MAX_BYTES))
