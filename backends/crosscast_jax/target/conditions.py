"""Conditions of the rows of JAX."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.plan.operations import Clip, Plan, Step
from crosscast.recipe.document import BertModel, CustomModel, Recipe


def own_half_model(recipe: Recipe) -> bool:
    """Whether a model of the user's own computes in half precision."""
    return isinstance(recipe.model, CustomModel) and recipe.precision.mode != "none"


def typed_layers(recipe: Recipe) -> bool:
    """Whether the emitted model names the types of its operations."""
    return isinstance(recipe.model, BertModel) and recipe.precision.mode != "none"


def scaled_dynamic(plan: Plan) -> bool:
    """Whether the loss scale moves."""
    return predicates.dynamic(plan)


def adds_epsilon(plan: Plan) -> bool:
    """Whether clipping adds an epsilon to a norm."""
    return predicates.clips_norm(plan) and plan.get(Clip).eps > 0


def corrected(plan: Plan) -> bool:
    """Whether the optimizer corrects the bias of its moments."""
    step = plan.get(Step)
    return step.optimizer in ("adam", "adamw", "lamb") and step.bias_correction


def several_processes(plan: Plan) -> bool:
    """Whether there are several processes."""
    return predicates.parallel(plan)
