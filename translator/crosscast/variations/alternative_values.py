"""Other values for one field of a recipe, as valid recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import built, changed, value_at
from crosscast.variations.table import paths_of, variations

_STRATEGY = {"none": "data_parallel", "data_parallel": "none"}
_DATA: Mapping[str, Mapping[str, Any]] = {
    "npz": {"source": "npz", "train": "data/train.npz", "eval": "data/eval.npz"},
    "custom": {"source": "custom", "train": "rows:train", "eval": "rows:eval"},
}
_LOSSES = ("cross_entropy", "mse")


def other_recipes(recipe: Recipe, path: str) -> Iterator[Recipe]:
    """Yield valid recipes with another value in a field, and the changes that it requires."""
    known = [name for name in paths_of(recipe) if name == path or name.startswith(f"{path}.")]
    for leaf in known:
        yield from (variation.recipe for variation in variations(recipe, leaf))
    data = recipe.model_dump()
    for value in (*_variants(value_at(data, path)), *_of_field(data, path)):
        for also in _following(data, path, value):
            result = built(changed(data, {path: value, **also}))
            if result is not None and result[1]:
                yield result[0]
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
        case "data.source" if value in _DATA:
            yield {"data": {**_DATA[value], "shuffle": data["data"]["shuffle"]}}
        case "loss.kind" if value in _LOSSES:
            yield {"loss": {"kind": value}}
        case "batch.global_batch_size" if value % (micro * processes) == 0:
            yield {"accumulation.steps": value // (micro * processes)}


def _of_field(data: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yield other values of fields whose values say nothing about what else is possible."""
    match path:
        case "data.source":
            yield from (source for source in _DATA if source != data["data"]["source"])
        case "loss.kind":
            yield from (kind for kind in _LOSSES if kind != data["loss"]["kind"])
        case "loss.class_weights" if not data["loss"]["class_weights"]:
            yield tuple(1.0 + n for n in range(data["model"].get("labels", 2)))
        case "optimizer.groups" if not data["optimizer"]["groups"]:
            yield ({"parameters": ("*bias*",), "weight_decay": 0.0},)
        case "metrics.custom" if not data["metrics"]["custom"] and "factory" in data["model"]:
            yield {"score": dict.fromkeys(data["model"]["factory"], "metrics:score")}


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
