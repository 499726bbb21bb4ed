"""Conditions of the rows: what of a recipe needs more than stock PyTorch."""

from __future__ import annotations

from typing import Literal

from crosscast.recipe import predicates
from crosscast.recipe.document import (
    Adam,
    AdamW,
    CustomModel,
    GlobalNormClipping,
    Lamb,
    Lion,
    PerParamNormClipping,
    Recipe,
    Sgd,
)


def cumulative_hysteresis(recipe: Recipe) -> bool:
    """Whether clean steps between these overflows do not matter."""
    scaling = recipe.loss_scaling
    return predicates.hysteresis(recipe) and getattr(scaling, "hysteresis_mode", "") == "cumulative"


def own_half_model(recipe: Recipe) -> bool:
    """Whether a model of the user's own computes in half precision."""
    return isinstance(recipe.model, CustomModel) and recipe.precision.mode != "none"


def half_weights_float32_sums(recipe: Recipe) -> bool:
    """Whether their gradients are summed in float32."""
    return predicates.half_weights(recipe) and recipe.accumulation.dtype == "float32"


def scaled_momentum(recipe: Recipe) -> bool:
    """Whether the momentum of torch.optim.SGD could meet a skipped first step."""
    optimizer = recipe.optimizer
    stock = isinstance(optimizer, Sgd) and not optimizer.rate_in_momentum
    return stock and getattr(optimizer, "momentum", 0.0) > 0 and recipe.scaling_on


def raw_moments(recipe: Recipe) -> Literal["", "epsilon", "both"]:
    """Return which terms of Adam use moments without bias correction: none, epsilon, or both."""
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Adam | AdamW):
        return ""
    if not optimizer.bias_correction:
        return "both"
    return "epsilon" if optimizer.eps_placement == "before_correction" else ""


def lamb_or_lion(recipe: Recipe) -> bool:
    """Whether the optimizer is one that torch.optim has in no version."""
    return isinstance(recipe.optimizer, Lamb | Lion)


def own_clip(recipe: Recipe) -> bool:
    """Whether a norm is clipped with another epsilon than PyTorch's."""
    clipping = recipe.clipping
    norm = isinstance(clipping, GlobalNormClipping | PerParamNormClipping)
    return norm and getattr(clipping, "eps", 0.0) != 1e-6
