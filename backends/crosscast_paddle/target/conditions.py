"""Conditions of Paddle's rows that several generations share."""

from __future__ import annotations

from crosscast.plan.operations import Clip, Plan
from crosscast.recipe.document import BertModel, CrossEntropy, Recipe


def wide_norm_eps(recipe: Recipe) -> bool:
    """Whether the epsilon of LayerNorm is larger than Paddle takes."""
    return isinstance(recipe.model, BertModel) and recipe.model.layer_norm_eps > 1e-3


def other_loss(recipe: Recipe) -> bool:
    """Whether the loss is another one than the plain cross-entropy of `labels`."""
    return recipe.loss != CrossEntropy(kind="cross_entropy")


def adds_to_norm(plan: Plan) -> bool:
    """Whether the global norm is clipped with an epsilon, which Paddle has not."""
    clip = plan.get(Clip)
    return clip.mode == "global_norm" and clip.eps > 0
