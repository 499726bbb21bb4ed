"""Conditions of Paddle's rows that several generations share."""

from __future__ import annotations

from crosscast.recipe.document import BertModel, GlobalNormClipping, Recipe


def wide_norm_eps(recipe: Recipe) -> bool:
    """Whether the epsilon of LayerNorm is larger than Paddle takes."""
    return isinstance(recipe.model, BertModel) and recipe.model.layer_norm_eps > 1e-3


def clip_eps(recipe: Recipe) -> bool:
    """Whether the norm is clipped with an epsilon, which Paddle has not."""
    return isinstance(recipe.clipping, GlobalNormClipping) and recipe.clipping.eps > 0
