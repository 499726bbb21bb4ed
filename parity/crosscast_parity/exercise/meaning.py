"""What a recipe means for a model: two that say different things may mean the same."""

from __future__ import annotations

from dataclasses import replace

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Normalize, Op, Schedule, Step
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.recordings.roles import roles_of

FULL = ("drop", "carry")
"""Tails without a short window; which rows are left out is no matter of a step."""
Settings = tuple[tuple[float, float], ...]


def meaning(recipe: Recipe) -> tuple[object, ...]:
    """Return a key of a recipe's effect on training; equal where no run could tell recipes apart.

    Roles and groups are what they make of every weight of the shipped BERT, which has one label a
    row.
    """
    settings: Settings = ()
    plan = canonical_plan(recipe)
    step = plan.find(Step)
    if step is not None and isinstance(recipe.model, BertModel):
        roles = roles_of(bert_shapes(recipe.model))
        settings = tuple(settings_of(step, name, own) for name, own in roles.items())
    ops = tuple(_normalized(op, settings) for op in plan)
    return (*ops, settings, recipe.accumulation.tail in FULL)


def _normalized(op: Op, settings: Settings) -> Op:
    if isinstance(op, Normalize):
        # No window has fewer than one row or micro-batch, which is then all of a full one.
        renormalize = op.renormalize or op.full == 1
        return replace(
            op, unit="sample" if op.unit == "token" else op.unit, renormalize=renormalize
        )
    if isinstance(op, Schedule) and (op.name, op.power) == ("polynomial", 1.0):
        return replace(op, name="linear")
    if not (isinstance(op, Step) and settings):
        return op
    op = replace(op, weight_decay=0.0, no_decay=(), groups=())
    if any(decay and factor for decay, factor in settings):
        return op
    # Without decay LAMB adapts the rate of no weight, unless it always does.
    adam = op.optimizer == "adam" or (op.optimizer == "lamb" and not op.always_adapt)
    return replace(op, optimizer="adamw", always_adapt=True) if adam else op
