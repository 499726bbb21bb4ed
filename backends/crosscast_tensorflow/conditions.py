"""Conditions of the TensorFlow backend's rows."""

from __future__ import annotations

from crosscast.recipe import predicates
from crosscast.recipe.document import (
    Adam,
    AdamW,
    CustomModel,
    GlobalNormClipping,
    NoClipping,
    PerParamNormClipping,
    Recipe,
    Sgd,
)
from crosscast_tensorflow.stock import stock_call


def norm_clip(recipe: Recipe) -> bool:
    """Whether gradients are clipped in a way that Keras has not."""
    clipping = recipe.clipping
    by_norm = isinstance(clipping, GlobalNormClipping | PerParamNormClipping)
    return by_norm or (not isinstance(clipping, NoClipping) and bool(clipping.exempt))


def clips_by_name(recipe: Recipe) -> bool:
    """Whether weights of unknown layers are exempt from clipping as layer norms."""
    if isinstance(recipe.clipping, NoClipping):
        return False
    return isinstance(recipe.model, CustomModel) and "layer_norm" in recipe.clipping.exempt


def spares_by_name(recipe: Recipe) -> bool:
    """Whether weights of unknown layers are to be spared from decay as layer norms."""
    optimizer = recipe.optimizer
    spared = optimizer.weight_decay > 0 and "layer_norm" in optimizer.no_decay
    return spared and isinstance(recipe.model, CustomModel)


def adam_after(recipe: Recipe) -> bool:
    """Whether epsilon comes after a bias correction."""
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Adam | AdamW):
        return False
    return optimizer.bias_correction and optimizer.eps_placement == "after_correction"


def lamb(recipe: Recipe) -> bool:
    """Whether the optimizer is LAMB."""
    return recipe.optimizer.name == "lamb"


def momentum_outside(recipe: Recipe) -> bool:
    """Whether there is a momentum that the rate stays out of."""
    optimizer = recipe.optimizer
    inside = isinstance(optimizer, Sgd) and optimizer.rate_in_momentum
    return isinstance(optimizer, Sgd) and optimizer.momentum > 0 and not inside


def stock(recipe: Recipe) -> bool:
    """Whether a class of Keras is used as it is."""
    return bool(stock_call(recipe, keras3=True))


def full_own_model(recipe: Recipe) -> bool:
    """Whether the weights of an unknown model are half."""
    return predicates.half_weights(recipe) and isinstance(recipe.model, CustomModel)


def full_matmul_float32(recipe: Recipe) -> bool:
    """Whether half weights are multiplied in float32."""
    return predicates.half_weights(recipe) and recipe.precision.ops.matmul == "float32"


def recomputes_dropout(recipe: Recipe) -> bool:
    """Whether activations of a model with dropout are computed again."""
    dropout = not isinstance(recipe.model, CustomModel) and recipe.model.dropout > 0
    return recipe.activation_checkpointing and dropout


def parallel_own_model(recipe: Recipe) -> bool:
    """Whether several processes train the user's model."""
    return predicates.parallel(recipe) and predicates.own_model(recipe)
