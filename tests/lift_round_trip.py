"""Compile a recipe, read the scripts back, and compare what they say with the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.compiler import compile_recipe
from crosscast.diagnostics import DiagnosticError
from crosscast.lift.sides import flat
from crosscast.readers.emitted.reader import READER
from crosscast.recipe import Recipe
from crosscast.source import Source

SILENT = (
    *("version", "name", "overrides", "model.preset", "schedule.warmup_ratio"),
    "precision.param_dtype",
)
"""What no script says, or what is derived."""


def emitted(
    recipe: Recipe, target: str, endings: tuple[str, ...] = (".py",)
) -> list[Source] | None:
    """Return the Python files of a target; None if it cannot express the recipe."""
    try:
        (compiled,) = compile_recipe(recipe, [target], form="script", strict=False)
    except DiagnosticError:
        return None
    return [
        Source(f"{target}/{path}", file.text)
        for path, file in compiled.files.items()
        if path.endswith(endings)
    ]


def read_back(sources: list[Source]) -> dict[str, Any]:
    """Return what the reader of emitted scripts says, by the field of the recipe."""
    from crosscast.pysource.project import read_program

    program, diagnostics = read_program(tuple(sources))
    assert not diagnostics
    said: dict[str, Any] = {}
    for fact in READER.read(program):
        if fact.field.startswith("recipe."):
            value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            said[fact.field.removeprefix("recipe.")] = value
    return said


def meaning(values: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Return the fields that matter for the training, in one form."""
    kept = {
        path: _number(value)
        for path, value in values.items()
        if value is not None
        and value != []
        and not path.startswith(SILENT)
        and path != "precision.param_dtype"
    }
    kept = {
        path: value
        for path, value in kept.items()
        if not path.startswith("model.factory") or path == f"model.factory.{backend}"
    }
    for path in _without_effect(kept):
        kept.pop(path, None)
    for path in ("optimizer.no_decay", "clipping.exempt"):
        if path in kept:
            kept[path] = sorted(kept[path])
    return kept


def _without_effect(kept: Mapping[str, Any]) -> list[str]:
    """Return fields that say nothing because of others."""
    silent = ["batch.global_batch_size"]
    if not kept.get("optimizer.weight_decay"):
        silent.append("optimizer.no_decay")
    elif not kept.get("optimizer.no_decay") and "optimizer.groups.0.parameters" not in kept:
        silent.append("optimizer.always_adapt")  # every weight decays
    if not kept.get("optimizer.momentum"):
        silent += ["optimizer.nesterov", "optimizer.rate_in_momentum", "optimizer.momentum"]
    if not kept.get("optimizer.bias_correction", True):
        silent.append("optimizer.eps_placement")
    if kept.get("schedule.name") in ("constant", "inverse_sqrt"):
        silent += ["schedule.end_lr", "schedule.decay_from"]
    if not kept.get("schedule.warmup_steps"):
        silent.append("schedule.decay_from")
    if kept.get("schedule.name") != "polynomial":
        silent.append("schedule.power")
    if kept.get("loss_scaling.mode") == "none":
        silent.append("schedule.tick")
    if kept.get("loss_scaling.hysteresis") == 1:
        silent.append("loss_scaling.hysteresis_mode")
    if kept.get("data.source") == "npz":
        silent.append("data.sequence_length")
    if kept.get("batch.micro_batch_size") == 1 and kept.get("accumulation.tail") == "flush":
        silent.append("accumulation.normalize_by")
    if kept.get("precision.mode") != "full":
        silent.append("accumulation.dtype")
    if kept.get("precision.mode") == "none" or kept.get("model.kind") == "custom":
        silent += [path for path in kept if path.startswith("precision.ops.")]
    if kept.get("distributed.processes_per_node") == 1:
        silent.append("distributed.strategy")
    return silent


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def compared(recipe: Recipe, said: Mapping[str, Any], target: str) -> dict[str, tuple[Any, Any]]:
    """Return field to (wanted, read) where the two differ."""
    backend = target.partition("@")[0]
    wanted = meaning(flat(recipe), backend)
    read = meaning(dict(said), backend)
    return {
        path: (wanted.get(path), read.get(path))
        for path in {**wanted, **read}
        if wanted.get(path) != read.get(path)
    }
