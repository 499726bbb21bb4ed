"""The reader of recipe files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse

if TYPE_CHECKING:
    from crosscast_reading.readers.protocol import Reading


@dataclass(frozen=True, slots=True)
class RecipeReader:
    """Reads `recipe.yaml`."""

    name: str = "recipe"

    def sniff(self, source: Source) -> bool:
        """Return whether the text looks like a recipe."""
        if not source.name.endswith((".yaml", ".yml", ">")):  # `<stdin>` has no suffix
            return False
        return any(line.startswith("version:") for line in source.text.splitlines())

    def read(self, source: Source) -> Reading:
        """Return the recipe, or every problem of the file."""
        from crosscast_reading.readers.protocol import Reading

        try:
            return Reading(recipe=build_recipe(parse(source.text, source.name)))
        except DiagnosticError as error:
            return Reading(diagnostics=error.diagnostics)


READER = RecipeReader()
