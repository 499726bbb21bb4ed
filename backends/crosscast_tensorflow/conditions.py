"""Conditions of the TensorFlow backend's rows."""

from __future__ import annotations

from crosscast.recipe.document import (
    Adam,
    AdamW,
    CustomModel,
    DynamicLossScaling,
    GlobalNormClipping,
    NoClipping,
    OpTypes,
    PerParamNormClipping,
    Recipe,
    Sgd,
)
from crosscast_tensorflow.stock import stock_call


def dynamic(recipe: Recipe) -> bool:
    """Whether the loss scale moves."""
    return isinstance(recipe.loss_scaling, DynamicLossScaling)


def static(recipe: Recipe) -> bool:
    """Whether the loss scale is constant."""
    return recipe.loss_scaling.mode == "static"


def accumulates(recipe: Recipe) -> bool:
    """Whether a window has several micro-batches."""
    return recipe.accumulation.steps > 1


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


def adam_before(recipe: Recipe) -> bool:
    """Whether epsilon comes before a bias correction, as in Keras."""
    optimizer = recipe.optimizer
    adam = isinstance(optimizer, Adam | AdamW) and optimizer.bias_correction
    return adam and not adam_after(recipe)


def adam_uncorrected(recipe: Recipe) -> bool:
    """Whether there is an Adam without bias correction."""
    return isinstance(recipe.optimizer, Adam | AdamW) and not recipe.optimizer.bias_correction


def lamb(recipe: Recipe) -> bool:
    """Whether the optimizer is LAMB."""
    return recipe.optimizer.name == "lamb"


def adafactor(recipe: Recipe) -> bool:
    """Whether the optimizer is Adafactor."""
    return recipe.optimizer.name == "adafactor"


def coupled(recipe: Recipe) -> bool:
    """Whether weight decay is part of the gradients."""
    return recipe.optimizer.name in ("sgd", "adam") and recipe.optimizer.weight_decay > 0


def momentum_outside(recipe: Recipe) -> bool:
    """Whether there is a momentum that the rate stays out of."""
    optimizer = recipe.optimizer
    inside = isinstance(optimizer, Sgd) and optimizer.rate_in_momentum
    return isinstance(optimizer, Sgd) and optimizer.momentum > 0 and not inside


def stock(recipe: Recipe) -> bool:
    """Whether a class of Keras is used as it is."""
    return bool(stock_call(recipe, keras3=True))


def grouped(recipe: Recipe) -> bool:
    """Whether weights have settings of their own."""
    return bool(recipe.optimizer.groups)


def averages(recipe: Recipe) -> bool:
    """Whether weights are averaged."""
    return recipe.ema.decay is not None


def chooses_types(recipe: Recipe) -> bool:
    """Whether classes of operations have other types than mixed precision usually gives them."""
    return recipe.precision.ops != OpTypes()


def full(recipe: Recipe) -> bool:
    """Whether the model's weights are half."""
    return recipe.precision.mode == "full"


def full_own_model(recipe: Recipe) -> bool:
    """Whether the weights of an unknown model are half."""
    return full(recipe) and isinstance(recipe.model, CustomModel)


def full_matmul_float32(recipe: Recipe) -> bool:
    """Whether half weights are multiplied in float32."""
    return full(recipe) and recipe.precision.ops.matmul == "float32"


def mixed(recipe: Recipe) -> bool:
    """Whether parts of the model compute in half."""
    return recipe.precision.mode == "mixed"


def bfloat16(recipe: Recipe) -> bool:
    """Whether the half type is bfloat16."""
    return recipe.half == "bfloat16"


def own_model(recipe: Recipe) -> bool:
    """Whether the model is the user's."""
    return isinstance(recipe.model, CustomModel)


def recomputes_dropout(recipe: Recipe) -> bool:
    """Whether activations of a model with dropout are computed again."""
    dropout = not isinstance(recipe.model, CustomModel) and recipe.model.dropout > 0
    return recipe.activation_checkpointing and dropout


def parallel(recipe: Recipe) -> bool:
    """Whether the run has several processes."""
    return recipe.processes > 1


def parallel_own_model(recipe: Recipe) -> bool:
    """Whether several processes train the user's model."""
    return parallel(recipe) and own_model(recipe)


def several_nodes(recipe: Recipe) -> bool:
    """Whether the processes are on several machines."""
    return recipe.distributed.nodes > 1
