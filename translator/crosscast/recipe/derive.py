"""Derive the recipe values that follow from other values.

Works on plain data before validation, which reports values of a wrong type. Given values are never
changed; `crosscast.recipe.rules` reports contradictions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from crosscast.messages.diagnostics import Collector, Diagnostic
from crosscast.recipe.document import BERT_PRESETS
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.recipe.tracking import derived


def derive(raw: Mapping[str, Any], collect: Collector) -> dict[str, Any]:
    """Return a copy of `raw` with derived values added. Never raises on strange data."""
    data = {key: dict(value) if isinstance(value, Mapping) else value for key, value in raw.items()}
    _model_sizes(data)
    _loss(data)
    _precision(data)
    _operation_types(data)
    _batch(data)
    _warmup(data, collect)
    _tracking(data)
    return data


def _section(data: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return a section to fill in, created if missing; None if it is not a mapping."""
    section = data.setdefault(name, {})
    return section if isinstance(section, dict) else None


def _count(section: dict[str, Any] | None, name: str) -> int | None:
    value = section.get(name) if section is not None else None
    return value if type(value) is int and value >= 1 else None


def _model_sizes(data: dict[str, Any]) -> None:
    model = data.get("model")
    if isinstance(model, dict) and model.get("kind") == "bert":
        preset = model.get("preset")
        sizes = BERT_PRESETS.get(preset, {}) if isinstance(preset, str) else {}
        for name, size in sizes.items():
            model.setdefault(name, size)


def _loss(data: dict[str, Any]) -> None:
    """Derive the kind that a recipe without the section has; only a custom loss has functions."""
    loss = data.get("loss")
    if isinstance(loss, dict) and "function" not in loss:
        loss.setdefault("kind", "cross_entropy")


def _precision(data: dict[str, Any]) -> None:
    precision = data.get("precision", {})
    half = isinstance(precision, dict) and precision.get("compute_dtype") == "float16"
    data.setdefault("loss_scaling", {"mode": "dynamic" if half else "none"})


def _operation_types(data: dict[str, Any]) -> None:
    """Fill in the policy of the shipped BERT, and from a policy the classes that are not set."""
    model, precision = data.get("model"), data.get("precision")
    if not (isinstance(model, dict) and isinstance(precision, dict)):
        return
    if precision.get("mode") not in ("mixed", "full"):
        return
    if model.get("kind") == "bert":
        precision.setdefault("policy", DEFAULT_POLICY)
    policy = precision.get("policy")
    ops = precision.get("ops", {})
    if isinstance(policy, str) and policy in POLICIES and isinstance(ops, Mapping):
        precision["ops"] = {**POLICIES[policy], **ops}


def _batch(data: dict[str, Any]) -> None:
    """Solve global = micro x steps x processes for a missing value, if it is an integer."""
    batch, accumulation = _section(data, "batch"), _section(data, "accumulation")
    if batch is None or accumulation is None:
        return
    processes = _processes(data.get("distributed", {}))
    micro, whole = _count(batch, "micro_batch_size"), _count(batch, "global_batch_size")
    steps = _count(accumulation, "steps")
    if steps is None and "steps" not in accumulation:
        if micro and whole:
            # Rounded so that the rule about the product can name the contradiction.
            accumulation["steps"] = max(1, round(whole / (micro * processes)))
        elif micro or whole:
            accumulation["steps"] = 1
        steps = _count(accumulation, "steps")
    if micro is None and "micro_batch_size" not in batch and whole and steps:
        batch["micro_batch_size"] = max(1, round(whole / (steps * processes)))
    if whole is None and "global_batch_size" not in batch and micro and steps:
        batch["global_batch_size"] = micro * steps * processes


def _processes(distributed: Any) -> int:
    section = distributed if isinstance(distributed, dict) else None
    return math.prod(_count(section, name) or 1 for name in ("nodes", "processes_per_node"))


def _warmup(data: dict[str, Any], collect: Collector) -> None:
    schedule = data.get("schedule")
    if not isinstance(schedule, dict) or schedule.get("warmup_ratio") is None:
        return
    if "warmup_steps" in schedule:
        collect.add(
            Diagnostic(
                code="CC203",
                path="schedule.warmup_ratio",
                message="both warmup_ratio and warmup_steps are given",
                hint="keep one of the two",
            )
        )
        return
    ratio, total = schedule["warmup_ratio"], _count(schedule, "total_steps")
    is_number = isinstance(ratio, int | float) and not isinstance(ratio, bool)
    if is_number and total and 0 <= ratio <= 1:
        # 0.29 * 100 is 28.999999999999996 in binary.
        schedule["warmup_steps"] = math.floor(ratio * total + 1e-9)
        del schedule["warmup_ratio"]


def _tracking(data: dict[str, Any]) -> None:
    tracking = data.get("tracking")
    if isinstance(tracking, dict):
        data["tracking"] = derived(tracking, data.get("name"))
