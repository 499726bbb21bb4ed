"""The fields of a recipe by their dotted paths."""

from __future__ import annotations

from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import as_written


def flat(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a recipe by their dotted paths, as they are written to a file."""
    return _flat(as_written(recipe.model_dump(mode="json")))


def flat_meaning(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a recipe by their dotted paths, whatever version it is written in."""
    return _flat(recipe.model_dump(mode="json"))


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}

    def visit(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, entry in value.items():
                visit(f"{path}.{name}" if path else name, entry)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for index, element in enumerate(value):
                visit(f"{path}.{index}", element)
        else:
            values[path] = plain(value)

    visit("", data)
    return values


def plain(value: Any) -> Any:
    """Return a value with lists instead of tuples."""
    if isinstance(value, tuple | list):
        return [plain(element) for element in value]
    return value
