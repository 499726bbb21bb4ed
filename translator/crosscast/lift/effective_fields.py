"""What fields of a recipe mean together: those without effect, those that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SETS = ("optimizer.no_decay", "clipping.exempt")
"""Lists whose order says nothing."""
_FALLING = ("linear", "cosine", "polynomial")


def meaning(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have an effect, each in one of its forms.

    Args:
        values: all fields of a recipe by their dotted paths (`crosscast.lift.recipe_diff.flat`).
    """
    said = {path: value for path, value in values.items() if not path.startswith("launch.")}
    if (nodes := said.pop("distributed.nodes", 1)) and "distributed.processes_per_node" in said:
        said["distributed.processes_per_node"] *= nodes  # where they run changes nothing
    for path in _SETS:
        if isinstance(said.get(path), list):
            said[path] = sorted(map(str, said[path]))
    if said.get("schedule.name") == "polynomial" and said.get("schedule.power") == 1:
        said["schedule.name"] = "linear"
    if said.get("optimizer.name") == "adamw" and not _decays(said):
        said["optimizer.name"] = "adam"
    if said.get("accumulation.normalize_by") == "microbatch" and _are_full(said):
        said["accumulation.normalize_by"] = "sample"
    for path in list(_idle(said)):
        said.pop(path, None)
    return said


def _decays(said: Mapping[str, Any]) -> bool:
    """Whether some weights decay."""
    paths = (p for p in said if p.startswith("optimizer.") and p.endswith("weight_decay"))
    return any(said[path] for path in paths)


def _are_full(said: Mapping[str, Any]) -> bool:
    """Whether all micro-batches of a window have the same number of rows."""
    alone = (
        said.get("accumulation.steps") == 1 and said.get("distributed.processes_per_node", 1) == 1
    )
    single = said.get("batch.micro_batch_size") == 1
    return alone or single or said.get("accumulation.tail") in ("carry", "drop")


def _idle(said: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that have no effect because of others."""
    if not said.get("optimizer.weight_decay"):
        yield "optimizer.no_decay"
    elif not said.get("optimizer.no_decay") and "optimizer.groups.0.parameters" not in said:
        yield "optimizer.always_adapt"  # every weight decays
    if not said.get("optimizer.momentum"):
        yield from ("optimizer.nesterov", "optimizer.rate_in_momentum")
    if said.get("optimizer.bias_correction") is False:
        yield "optimizer.eps_placement"
    name = said.get("schedule.name")
    if name not in _FALLING:
        yield from ("schedule.end_lr", "schedule.decay_from")
    if name != "polynomial":
        yield "schedule.power"
    if not said.get("schedule.warmup_steps"):
        yield "schedule.decay_from"
    constant = name == "constant" and not said.get("schedule.warmup_steps")
    if said.get("loss_scaling.mode") == "none" or constant:
        yield "schedule.tick"
    if said.get("loss_scaling.hysteresis") == 1:
        yield "loss_scaling.hysteresis_mode"
    counts = said.get("accumulation.normalize_by") != "token"
    single = said.get("batch.micro_batch_size") == 1
    if counts and single and said.get("accumulation.tail") == "flush":
        yield "accumulation.normalize_by"
    if said.get("precision.mode") != "full":
        yield "accumulation.dtype"
    if said.get("precision.mode") == "none" or said.get("model.kind") == "custom":
        yield from (path for path in said if path.startswith("precision.ops."))
    if said.get("distributed.processes_per_node", 1) == 1:
        yield "distributed.strategy"
    if said.get("data.source") == "npz":
        yield "data.sequence_length"  # the files decide
