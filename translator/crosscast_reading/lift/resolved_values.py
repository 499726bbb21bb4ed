"""Which facts give the value of a field of the recipe, and which only say how something is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import VOCABULARY

MEANT: Mapping[str, str] = {
    "framework": "precision.mode",
    "api": "precision.mode",
    "loss_scaling.api": "loss_scaling.mode",
    "loss_scaling.with_bfloat16": "loss_scaling.mode",
    "precision.enabled": "precision.mode",
    "precision.dtypes": "precision.compute_dtype",
    "precision.flag": "precision.mode",
    "precision.level": "precision.mode",
    "accumulation.present": "accumulation.steps",
    "accumulation.loss_divided": "accumulation.normalize_by",
    "accumulation.no_sync": "distributed.strategy",
    "loss.class_weights": "loss.class_weights",
    "loss.named": "loss.kind",
    "loss.smoothed_by": "loss.kind",
    "loss.trainer_smoothing": "loss.label_smoothing",
    "loss.ignore_index": "loss.kind",
    "loss.mean_over": "accumulation.normalize_by",
    "zero_grad.where": "accumulation.steps",
    "clipping.unscaled_first": "clipping.kind",
    "clipping.per": "clipping.kind",
    "scaler_update.status": "loss_scaling.mode",
    "optimizer.source_name": "optimizer.name",
    "schedule.warmup": "schedule.warmup_steps",
    "schedule.has_warmup": "schedule.warmup_steps",
    "schedule.warmup_form": "schedule.warmup_steps",
    "schedule.warmup_start_factor": "schedule.warmup_start_lr",
    "schedule.peak": "optimizer.learning_rate",
    "schedule.end_factor": "schedule.end_lr",
    "schedule.stepped_per": "schedule.name",
    "optimizer.learning_rate_changed": "optimizer.learning_rate",
    "optimizer.weight_decay_changed": "optimizer.weight_decay",
    "optimizer.momentum_changed": "optimizer.momentum",
    "optimizer.betas_changed": "optimizer.name",
    "optimizer.eps_changed": "optimizer.name",
    "optimizer.rate_groups": "optimizer.groups",
    "batch.drop_last": "accumulation.tail",
    "parallel.kind": "distributed.strategy",
    "parallel.world_size": "distributed.processes_per_node",
    "parallel.nodes": "distributed.nodes",
    "run.epochs": "schedule.total_steps",
}
"""Facts about how a source does something, and the field that says what it does."""


def set_by(fact: Fact) -> str:
    """Return the field of a recipe that a fact gives the value of; empty for all other facts."""
    entry = VOCABULARY.get(fact.field)
    return entry.recipe if entry is not None and fact.field not in MEANT else ""


def unknown_fields(facts: Iterable[Fact], optimizer: str) -> dict[str, Fact]:
    """Return the fields that a source sets to something that cannot be known, with their facts.

    Args:
        facts: of the whole source.
        optimizer: the one that the recipe is about; those of others set nothing.
    """
    by_path = [
        (set_by(fact), fact)
        for fact in facts
        if not fact.known and (not fact.field.startswith("optimizer.") or fact.subject == optimizer)
    ]
    return {path: fact for path, fact in reversed(by_path) if path}
