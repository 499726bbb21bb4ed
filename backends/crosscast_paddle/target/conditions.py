"""Conditions of Paddle's rows that several generations share."""

from __future__ import annotations

from crosscast.plan.operations import Clip, Plan
from crosscast.recipe.document import BertModel, CrossEntropy, Recipe
from crosscast.recipe.predicates import fused_attention, own_types, stores_half
from crosscast.targets.half_kernels import kernel_types


def wide_norm_eps(recipe: Recipe) -> bool:
    """Whether the epsilon of LayerNorm is larger than Paddle takes."""
    return isinstance(recipe.model, BertModel) and recipe.model.layer_norm_eps > 1e-3


def copies_weights(recipe: Recipe) -> bool:
    """Whether half copies of the weights of layers make all operations half, as the recipe says."""
    mixed = recipe.precision.mode == "mixed" and isinstance(recipe.model, BertModel)
    return mixed and stores_half(recipe) and _copies_suffice(recipe)


def _copies_suffice(recipe: Recipe) -> bool:
    """Whether all operations are half once the weights of layers are: nothing has to be cast."""
    kinds = kernel_types(recipe.precision.ops)
    layers = ("matmul", "pointwise", "reductions", "residual")
    in_half = all(kinds[name] == "half" for name in layers)
    return in_half and kinds["embeddings"] != "float32" and kinds["losses"] == "float32"


def casts_explicitly(recipe: Recipe) -> bool:
    """Whether operations have types that auto_cast does not give them.

    Fused attention chooses its kernel by what it gets, before auto_cast casts it.
    """
    return own_types(recipe) or (bool(recipe.half) and fused_attention(recipe))


def other_loss(recipe: Recipe) -> bool:
    """Whether the loss is another one than the plain cross-entropy of `labels`."""
    return recipe.loss != CrossEntropy(kind="cross_entropy")


def adds_to_norm(plan: Plan) -> bool:
    """Whether the global norm is clipped with an epsilon, which Paddle has not."""
    clip = plan.get(Clip)
    return clip.mode == "global_norm" and clip.eps > 0
