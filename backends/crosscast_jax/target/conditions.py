"""Conditions of the rows of JAX."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.plan.operations import Clip, Plan, Step
from crosscast.recipe.document import BertModel, Recipe


def typed_layers(recipe: Recipe) -> bool:
    """Whether the emitted model names the types of its operations."""
    return isinstance(recipe.model, BertModel) and recipe.precision.mode != "none"


def adds_epsilon(plan: Plan) -> bool:
    """Whether clipping adds an epsilon to a norm."""
    return predicates.clips_norm(plan) and plan.get(Clip).eps > 0


def corrected(plan: Plan) -> bool:
    """Whether the optimizer corrects the bias of its moments, and adds epsilon after it."""
    step = plan.get(Step)
    adam = step.optimizer in ("adam", "adamw", "lamb")
    return adam and step.bias_correction and not predicates.raw_epsilon(plan)
