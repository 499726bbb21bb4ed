"""Combined meaning of recipe fields: fields without effect, and equivalent ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SETS = ("optimizer.no_decay", "clipping.exempt")
"""Lists whose order says nothing."""
UNRELATED = ("launch.", "tracking.")
"""Sections that change no training."""
_FALLING = ("linear", "cosine", "polynomial")


def meaning(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have an effect, each in one of its forms.

    Args:
        values: all fields of a recipe by their dotted paths (`lift.recipe_diff.flat`).
    """
    fields = {path: value for path, value in values.items() if not path.startswith(UNRELATED)}
    if (nodes := fields.pop("distributed.nodes", 1)) and "distributed.processes_per_node" in fields:
        fields["distributed.processes_per_node"] *= nodes  # where they run changes nothing
    for path in _SETS:
        if isinstance(fields.get(path), list):
            fields[path] = sorted(map(str, fields[path]))
    if fields.get("schedule.name") == "polynomial" and fields.get("schedule.power") == 1:
        fields["schedule.name"] = "linear"
    if fields.get("optimizer.name") == "adamw" and not _decays(fields):
        fields["optimizer.name"] = "adam"
    if fields.get("accumulation.normalize_by") == "microbatch" and _are_full(fields):
        fields["accumulation.normalize_by"] = "sample"
    for path in list(_idle(fields)):
        fields.pop(path, None)
    return fields


def _decays(fields: Mapping[str, Any]) -> bool:
    """Whether some weights decay."""
    paths = (p for p in fields if p.startswith("optimizer.") and p.endswith("weight_decay"))
    return any(fields[path] for path in paths)


def _are_full(fields: Mapping[str, Any]) -> bool:
    """Whether all micro-batches of a window have the same number of rows."""
    alone = (
        fields.get("accumulation.steps") == 1
        and fields.get("distributed.processes_per_node", 1) == 1
    )
    single = fields.get("batch.micro_batch_size") == 1
    return alone or single or fields.get("accumulation.tail") in ("carry", "drop")


def _idle(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that have no effect because of others."""
    if not fields.get("optimizer.weight_decay"):
        yield "optimizer.no_decay"
    elif not fields.get("optimizer.no_decay") and "optimizer.groups.0.parameters" not in fields:
        yield "optimizer.always_adapt"  # every weight decays
    if not fields.get("optimizer.momentum"):
        yield from ("optimizer.nesterov", "optimizer.rate_in_momentum")
    if fields.get("optimizer.bias_correction") is False:
        yield "optimizer.eps_placement"
    name = fields.get("schedule.name")
    if name not in _FALLING:
        yield from ("schedule.end_lr", "schedule.decay_from")
    if name != "polynomial":
        yield "schedule.power"
    if not fields.get("schedule.warmup_steps"):
        yield from ("schedule.decay_from", "schedule.warmup_start_lr")
    if not fields.get("schedule.warmup_start_lr"):
        yield "schedule.warmup_start_lr"  # as in recipes from before there was such a field
    constant = name == "constant" and not fields.get("schedule.warmup_steps")
    if fields.get("loss_scaling.mode") == "none" or constant:
        yield "schedule.tick"
    if fields.get("loss_scaling.hysteresis") == 1:
        yield "loss_scaling.hysteresis_mode"
    counts = fields.get("accumulation.normalize_by") != "token"
    single = fields.get("batch.micro_batch_size") == 1
    if counts and single and fields.get("accumulation.tail") == "flush":
        yield "accumulation.normalize_by"
    if fields.get("precision.mode") != "full" or fields.get("accumulation.steps") == 1:
        yield "accumulation.dtype"
    if fields.get("precision.mode") == "none" or fields.get("model.kind") == "custom":
        yield from (
            path for path in fields if path.startswith(("precision.ops.", "precision.policy"))
        )
    if fields.get("distributed.processes_per_node", 1) == 1:
        yield "distributed.strategy"
    if fields.get("data.source") != "synthetic":
        yield "data.sequence_length"  # the rows decide
