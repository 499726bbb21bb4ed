"""Loading of recipe files."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.source import Source, read_source
from crosscast.recipe.document import Recipe
from crosscast.recipe.fill_in import still_open
from crosscast.recipe.validate import build_recipe, locate
from crosscast.recipe.warnings import notices
from crosscast.recipe.yaml_source import MAX_BYTES, YamlDocument, parse


@dataclass(frozen=True, slots=True)
class Loaded:
    """A recipe and the file it came from."""

    recipe: Recipe
    document: YamlDocument

    def placed(self, error: DiagnosticError) -> DiagnosticError:
        """Return the error of a later pass with places in the recipe file."""
        return DiagnosticError(
            *(
                locate(self.document, diagnostic)
                if diagnostic.path
                and diagnostic.span is None
                and diagnostic.severity is Severity.ERROR
                else diagnostic
                for diagnostic in error.diagnostics
            )
        )

    def notices(self) -> list[Diagnostic]:
        """Return the warnings about the recipe, with their places."""
        return [
            *still_open(self.document.marks, Severity.WARNING),
            *(locate(self.document, notice) for notice in notices(self.recipe)),
        ]


def placed_recipe(source: Source) -> Loaded:
    """Return the recipe of a text with the places of all fields.

    Raises:
        DiagnosticError: CC1xx for fields, CC2xx for contradictions; CC022 alone if the text is a
            program or a configuration of another tool that can be lifted.
    """
    document: YamlDocument | None = None
    try:
        document = parse(source.text, source.name)
        return Loaded(build_recipe(document), document)
    except DiagnosticError:
        from crosscast_reading.readers.not_recipes import not_a_recipe

        other = not_a_recipe(source, document.data if document else None)
        if other is None:
            raise
        raise DiagnosticError(other) from None


def load_placed(path: str) -> Loaded:
    """As `load`, keeping the places of all fields."""
    return placed_recipe(read_source(path, max_bytes=MAX_BYTES))


def load(path: str) -> Recipe:
    """Read and validate a recipe file; `-` reads stdin.

    Raises:
        DiagnosticError: CC0xx for the file, CC1xx for fields, CC2xx for contradictions.
    """
    return load_placed(path).recipe
