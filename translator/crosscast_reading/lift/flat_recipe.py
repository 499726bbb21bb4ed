"""The fields of a recipe by their dotted paths."""

from __future__ import annotations

from typing import Any

from crosscast.recipe.document import Recipe


def flat(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a recipe by their dotted paths."""
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

    visit("", recipe.model_dump(mode="json"))
    return values


def plain(value: Any) -> Any:
    """Return a value with lists instead of tuples."""
    if isinstance(value, tuple | list):
        return [plain(element) for element in value]
    return value
