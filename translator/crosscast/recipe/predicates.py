"""Predicates on recipes: conditions of rows.

They depend on the recipe alone; conditions on a framework belong to its backend, and what printing
asks about the training step is in `crosscast.plan.predicates`. The support matrix prints their
names.
"""

from __future__ import annotations

from crosscast.recipe.document import (
    Adam,
    AdamW,
    BertModel,
    CustomModel,
    DynamicLossScaling,
    NoClipping,
    OpTypes,
    PerParamNormClipping,
    Recipe,
    Sgd,
)


def own_model(recipe: Recipe) -> bool:
    """Whether the model is the user's."""
    return isinstance(recipe.model, CustomModel)


def own_metrics(recipe: Recipe) -> bool:
    """Whether the user has metrics."""
    return bool(recipe.metrics.custom)


def half(recipe: Recipe) -> bool:
    """Whether anything is computed in half precision."""
    return bool(recipe.half)


def float16(recipe: Recipe) -> bool:
    """Whether the half type is float16."""
    return recipe.half == "float16"


def bfloat16(recipe: Recipe) -> bool:
    """Whether the half type is bfloat16."""
    return recipe.half == "bfloat16"


def mixed(recipe: Recipe) -> bool:
    """Whether operations run in half precision with float32 weights."""
    return recipe.precision.mode == "mixed"


def half_weights(recipe: Recipe) -> bool:
    """Whether the model computes with half weights."""
    return recipe.precision.mode == "full"


def own_types(recipe: Recipe) -> bool:
    """Whether the shipped BERT's operations have other dtypes than mixed precision by default."""
    return isinstance(recipe.model, BertModel) and recipe.precision.ops != OpTypes()


def stores_half(recipe: Recipe) -> bool:
    """Whether the shipped BERT's types of operations are more than version 1 of recipes can say."""
    types = recipe.precision.ops
    if not isinstance(recipe.model, BertModel):
        return False
    return "float32_stored_half" in types.model_dump().values() or types.residual != types.pointwise


def fused_attention(recipe: Recipe) -> bool:
    """Whether the shipped BERT computes attention without keeping scores."""
    return isinstance(recipe.model, BertModel) and recipe.model.attention == "fused"


def own_half_model(recipe: Recipe) -> bool:
    """Whether a model of the user's own computes in half precision."""
    return isinstance(recipe.model, CustomModel) and recipe.precision.mode != "none"


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


def accumulates(recipe: Recipe) -> bool:
    """Whether a window has several micro-batches."""
    return recipe.accumulation.steps > 1


def half_sums(recipe: Recipe) -> bool:
    """Whether gradients are accumulated in half precision."""
    return recipe.accumulation.dtype == "compute"


def by_tokens(recipe: Recipe) -> bool:
    """Whether losses are divided by the labels of the window."""
    return recipe.accumulation.normalize_by == "token"


def by_rows(recipe: Recipe) -> bool:
    """Whether losses are divided by the rows of the window."""
    return recipe.accumulation.normalize_by == "sample"


def clips_each(recipe: Recipe) -> bool:
    """Whether each gradient is clipped by its own norm."""
    return isinstance(recipe.clipping, PerParamNormClipping)


def clips_some(recipe: Recipe) -> bool:
    """Whether gradients are clipped, but not all of them."""
    return not isinstance(recipe.clipping, NoClipping) and bool(recipe.clipping.exempt)


def uncorrected_adam(recipe: Recipe) -> bool:
    """Whether the optimizer is an Adam without bias correction."""
    return isinstance(recipe.optimizer, Adam | AdamW) and not recipe.optimizer.bias_correction


def raw_epsilon(recipe: Recipe) -> bool:
    """Whether epsilon is added before the bias correction."""
    optimizer = recipe.optimizer
    raw = isinstance(optimizer, Adam | AdamW) and optimizer.eps_placement == "before_correction"
    return raw and not uncorrected_adam(recipe)


def rate_in_momentum(recipe: Recipe) -> bool:
    """Whether gradients are multiplied by the rate before they enter the momentum."""
    return isinstance(recipe.optimizer, Sgd) and recipe.optimizer.rate_in_momentum


def grouped(recipe: Recipe) -> bool:
    """Whether there are parameter groups with their own decay or rate."""
    return bool(recipe.optimizer.groups)


def decays(recipe: Recipe) -> bool:
    """Whether any weight decays."""
    optimizer = recipe.optimizer
    return optimizer.weight_decay > 0 or any(group.weight_decay for group in optimizer.groups)


def coupled_decay(recipe: Recipe) -> bool:
    """Whether weight decay is part of the gradients."""
    return isinstance(recipe.optimizer, Sgd | Adam) and recipe.optimizer.weight_decay > 0


def moving_rate(recipe: Recipe) -> bool:
    """Whether the learning rate changes."""
    return recipe.schedule.name != "constant" or recipe.schedule.warmup_steps > 0


def averages(recipe: Recipe) -> bool:
    """Whether the weights are averaged."""
    return recipe.ema.decay is not None


def recomputes(recipe: Recipe) -> bool:
    """Whether activations are recomputed in the backward pass."""
    return recipe.activation_checkpointing


def parallel(recipe: Recipe) -> bool:
    """Whether there are several processes."""
    return recipe.processes > 1


def several_nodes(recipe: Recipe) -> bool:
    """Whether the processes are on several machines."""
    return recipe.distributed.nodes > 1


def parallel_own_model(recipe: Recipe) -> bool:
    """Whether several processes train the user's model."""
    return parallel(recipe) and own_model(recipe)
