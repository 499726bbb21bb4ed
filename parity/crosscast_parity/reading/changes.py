"""Put values into a recipe, with what must change together with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import built, changed, value_at
from crosscast.variations.companions import SECTIONS, follow_up

CLOSE = 1e-6
"""Numbers that differ by less, relative to them, are the same: some are kept in float32."""


def put(recipe: Recipe, values: Mapping[str, Any]) -> Recipe | None:
    """Return a recipe with other values by path; None if they are not allowed in their fields.

    A section of another kind keeps what it can; the rows of a batch are recomputed.
    """
    data = recipe.model_dump()
    for path, value in values.items():
        also = follow_up(data, path, value) if path in SECTIONS else {path: value}
        try:
            data = changed(data, also)
        except (KeyError, TypeError):
            return None
    distributed = data["distributed"]
    processes = distributed["nodes"] * distributed["processes_per_node"]
    rows = data["batch"]["micro_batch_size"] * data["accumulation"]["steps"] * processes
    result = built(changed(data, {"batch.global_batch_size": rows}))
    return result[0] if result else None


def value_of(recipe: Recipe, path: str) -> Any:
    """Return the value of a field, None if the recipe has no such field."""
    try:
        return value_at(recipe.model_dump(), path)
    except (KeyError, ValueError):
        return None


def alike(left: Any, right: Any) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        both = zip(left, right, strict=False)
        return len(left) == len(right) and all(alike(a, b) for a, b in both)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if not numbers or isinstance(left, bool) or isinstance(right, bool):
        return bool(left == right)
    return bool(abs(left - right) <= CLOSE * max(abs(left), abs(right)))
