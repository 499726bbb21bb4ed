"""Conditions of the rows: what of a recipe needs more than stock PyTorch."""

from __future__ import annotations

from typing import Literal

from crosscast.recipe.document import (
    Adafactor,
    Adam,
    AdamW,
    CustomModel,
    DynamicLossScaling,
    GlobalNormClipping,
    Lamb,
    Lion,
    PerParamNormClipping,
    Recipe,
    Sgd,
)


def dynamic(recipe: Recipe) -> bool:
    """Whether the loss scale changes."""
    return isinstance(recipe.loss_scaling, DynamicLossScaling)


def static(recipe: Recipe) -> bool:
    """Whether the loss scale is constant."""
    return recipe.loss_scaling.mode == "static"


def hysteresis(recipe: Recipe) -> bool:
    """Whether the scale backs off only after several overflows."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and scaling.hysteresis > 1


def cumulative_hysteresis(recipe: Recipe) -> bool:
    """Whether clean steps between these overflows do not matter."""
    scaling = recipe.loss_scaling
    return hysteresis(recipe) and getattr(scaling, "hysteresis_mode", "") == "cumulative"


def mixed(recipe: Recipe) -> bool:
    """Whether operations are computed in half precision, of float32 weights."""
    return recipe.precision.mode == "mixed"


def own_half_model(recipe: Recipe) -> bool:
    """Whether a model of the user's own computes in half precision."""
    return isinstance(recipe.model, CustomModel) and recipe.precision.mode != "none"


def bfloat16(recipe: Recipe) -> bool:
    """Whether that is bfloat16."""
    return recipe.precision.compute_dtype == "bfloat16"


def half_weights(recipe: Recipe) -> bool:
    """Whether the model computes with half weights."""
    return recipe.precision.mode == "full"


def half_weights_float32_sums(recipe: Recipe) -> bool:
    """Whether their gradients are summed in float32."""
    return half_weights(recipe) and recipe.accumulation.dtype == "float32"


def scaled_momentum(recipe: Recipe) -> bool:
    """Whether the momentum of torch.optim.SGD could meet a skipped first step."""
    optimizer = recipe.optimizer
    stock = isinstance(optimizer, Sgd) and not optimizer.rate_in_momentum
    return stock and getattr(optimizer, "momentum", 0.0) > 0 and recipe.scaling_on


def rate_in_momentum(recipe: Recipe) -> bool:
    """Whether gradients meet the rate before they enter the momentum."""
    return isinstance(recipe.optimizer, Sgd) and recipe.optimizer.rate_in_momentum


def raw_moments(recipe: Recipe) -> Literal["", "epsilon", "both"]:
    """Return what of Adam meets moments whose bias is not corrected."""
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Adam | AdamW):
        return ""
    if not optimizer.bias_correction:
        return "both"
    return "epsilon" if optimizer.eps_placement == "before_correction" else ""


def raw_epsilon(recipe: Recipe) -> bool:
    """Whether epsilon is added before the correction."""
    return raw_moments(recipe) == "epsilon"


def no_correction(recipe: Recipe) -> bool:
    """Whether the moments of Adam stay biased."""
    return raw_moments(recipe) == "both"


def lamb_or_lion(recipe: Recipe) -> bool:
    """Whether the optimizer is one that torch.optim has in no version."""
    return isinstance(recipe.optimizer, Lamb | Lion)


def adafactor(recipe: Recipe) -> bool:
    """Whether the optimizer is Adafactor."""
    return isinstance(recipe.optimizer, Adafactor)


def own_clip(recipe: Recipe) -> bool:
    """Whether a norm is clipped with another epsilon than PyTorch's."""
    clipping = recipe.clipping
    norm = isinstance(clipping, GlobalNormClipping | PerParamNormClipping)
    return norm and getattr(clipping, "eps", 0.0) != 1e-6


def each_norm(recipe: Recipe) -> bool:
    """Whether each gradient is clipped by its own norm."""
    return isinstance(recipe.clipping, PerParamNormClipping)


def averaged(recipe: Recipe) -> bool:
    """Whether the weights are averaged."""
    return recipe.ema.decay is not None


def recomputed(recipe: Recipe) -> bool:
    """Whether activations are computed again in the backward pass."""
    return recipe.activation_checkpointing
