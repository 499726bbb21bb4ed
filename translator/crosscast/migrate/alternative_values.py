"""Other values for one field of a recipe, as valid recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import built, changed, value_at
from crosscast.variations.table import paths_of, variations

_STRATEGY = {"none": "data_parallel", "data_parallel": "none"}


def other_recipes(recipe: Recipe, path: str) -> Iterator[Recipe]:
    """Yield valid recipes with another value in a field, and the changes that it requires."""
    known = [name for name in paths_of(recipe) if name == path or name.startswith(f"{path}.")]
    for leaf in known:
        yield from (variation.recipe for variation in variations(recipe, leaf))
    data = recipe.model_dump()
    for value in _variants(value_at(data, path)):
        for also in _following(data, path, value):
            made = built(changed(data, {path: value, **also}))
            if made is not None and made[1]:
                yield made[0]
                break


def _following(data: Mapping[str, Any], path: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield changes of other fields that a value may require; the first one is empty."""
    yield {}
    micro, steps = data["batch"]["micro_batch_size"], data["accumulation"]["steps"]
    nodes = data["distributed"]["nodes"]
    processes = nodes * data["distributed"]["processes_per_node"]
    match path:
        case "distributed.processes_per_node":
            many = nodes * value
            strategy = "data_parallel" if many > 1 else "none"
            yield {
                "distributed.strategy": strategy,
                "batch.global_batch_size": micro * steps * many,
            }
        case "distributed.strategy":
            many = 1 if value == "none" else max(2, processes)
            yield {
                "distributed.nodes": 1,
                "distributed.processes_per_node": many,
                "batch.global_batch_size": micro * steps * many,
            }
        case "batch.global_batch_size" if value % (micro * processes) == 0:
            yield {"accumulation.steps": value // (micro * processes)}


def _variants(value: Any) -> Iterator[Any]:
    """Yield other values of the same kind."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (2 * value, value + 1, max(1, value // 2))
        case float():
            yield from (2.0 * value, 0.5 * value, 0.25)
        case "none" | "data_parallel":
            yield _STRATEGY[value]
        case str():
            yield from (f"{value}2", f"other/{value}")
        case dict():
            for key, part in value.items():
                yield from ({**value, key: other} for other in _variants(part))
