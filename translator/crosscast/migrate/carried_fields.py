"""Which field of the recipe carries what a source says; the few facts that none carries."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from crosscast.facts.fact import Fact
from crosscast.facts.vocabulary import VOCABULARY
from crosscast.lift.drafting import DIRECT
from crosscast.lift.resolved_values import MEANT

NOWHERE: Mapping[str, str] = {
    "optimizer.role": "a recipe has one optimizer",
    "parallel.backend": "every script talks as its framework does by default",
}
"""Facts that no recipe carries, and why."""
OF_EVENTS = frozenset(
    {
        *("zero_grad.where", "scaler_update.status", "clipping.unscaled_first", "clipping.per"),
        *("accumulation.loss_divided", "schedule.stepped_per", "accumulation.no_sync"),
    }
)
"""Facts that an event of the training loop says as well, at the same line."""
_LIMITS = ("clipping.max_norm", "clipping.max_value")


def field_of(fact: Fact, fields: Collection[str]) -> str:
    """Return the field of a recipe that a fact is carried by; empty if there is none."""
    if fact.field.startswith(DIRECT):
        path = fact.field.removeprefix(DIRECT)
        return path if path in fields else ""
    if fact.field in NOWHERE or fact.field not in VOCABULARY:
        return ""
    path = MEANT.get(fact.field) or VOCABULARY[fact.field].recipe
    if path == "clipping.*":
        return next((one for one in _LIMITS if one in fields), "clipping.kind")
    if path == "schedule.warmup_steps" and path not in fields:
        return "schedule.warmup_ratio" if "schedule.warmup_ratio" in fields else ""
    if path in fields:
        return path
    section = path.partition(".")[0]
    # A scale of a source that scales nothing by default is said by the mode.
    mode = {"loss_scaling": "loss_scaling.mode", "precision": "precision.mode"}.get(section, "")
    return mode if mode in fields else ""


def reason_for(fact: Fact) -> str:
    """Return why no field carries a fact."""
    if fact.field in NOWHERE:
        return NOWHERE[fact.field]
    if not fact.known:
        return fact.reason or f"{fact.expression or 'its value'} is not known"
    return "no field of the recipe says it"
