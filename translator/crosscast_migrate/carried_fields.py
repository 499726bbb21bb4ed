"""The recipe field of each fact of a source, and the few facts that have none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import VOCABULARY
from crosscast_reading.lift.drafting import DIRECT
from crosscast_reading.lift.resolved_values import MEANT

NOWHERE: Mapping[str, str] = {
    "optimizer.role": "a recipe has one optimizer",
    "run.besides": "a recipe has no word for it",
    "parallel.backend": "every script uses the default backend of its framework",
}
"""Facts without a recipe field, with reasons."""
OF_EVENTS = frozenset(
    {
        *("zero_grad.where", "scaler_update.status", "clipping.unscaled_first", "clipping.per"),
        *("accumulation.loss_divided", "schedule.stepped_per", "accumulation.no_sync"),
    }
)
"""Facts that duplicate an event of the training loop at the same line."""
_LIMITS = ("clipping.max_norm", "clipping.max_value")


def field_of(fact: Fact, fields: Collection[str]) -> str:
    """Return the recipe field of a fact; empty if there is none."""
    if fact.field.startswith(DIRECT):
        path = fact.field.removeprefix(DIRECT)
        return path if path in fields else ""
    if fact.field in NOWHERE or fact.field not in VOCABULARY:
        return ""
    path = MEANT.get(fact.field) or VOCABULARY[fact.field].recipe
    if path == "clipping.*":
        return next((limit for limit in _LIMITS if limit in fields), "clipping.kind")
    if path == "schedule.warmup_steps" and path not in fields:
        return "schedule.warmup_ratio" if "schedule.warmup_ratio" in fields else ""
    if path in fields:
        return path
    section = path.partition(".")[0]
    # If a source scales nothing by default, the mode covers the scale.
    mode = {"loss_scaling": "loss_scaling.mode", "precision": "precision.mode"}.get(section, "")
    return mode if mode in fields else ""


def reason_for(fact: Fact) -> str:
    """Return why a fact has no field."""
    if fact.field in NOWHERE:
        return NOWHERE[fact.field]
    if not fact.known:
        return fact.reason or f"{fact.expression or 'its value'} is not known"
    return "the recipe has no field for it"
