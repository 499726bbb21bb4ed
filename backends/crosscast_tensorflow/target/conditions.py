"""Conditions of the TensorFlow backend's rows."""

from __future__ import annotations

from crosscast.plan.operations import Clip, Plan, Step
from crosscast.plan.predicates import (
    clips_norm,
    half_weights,
    is_adam,
    parallel,
    raw_epsilon,
    rounds_shares,
    uncorrected_adam,
)
from crosscast.recipe.document import CustomModel, NoClipping, Recipe


def norm_clip(plan: Plan) -> bool:
    """Whether gradients are clipped in a way that Keras has not."""
    return clips_norm(plan) or bool(plan.get(Clip).exempt)


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


def adam_after(plan: Plan) -> bool:
    """Whether epsilon comes after a bias correction."""
    adam = is_adam(plan.get(Step))
    return adam and not uncorrected_adam(plan) and not raw_epsilon(plan)


def lamb(plan: Plan) -> bool:
    """Whether the optimizer is LAMB."""
    return plan.get(Step).optimizer == "lamb"


def uncorrected_lamb(plan: Plan) -> bool:
    """Whether the optimizer is a LAMB without bias correction."""
    return lamb(plan) and not plan.get(Step).bias_correction


def momentum_outside(plan: Plan) -> bool:
    """Whether there is a momentum that the rate stays out of."""
    step = plan.get(Step)
    return step.optimizer == "sgd" and step.momentum > 0 and not step.rate_in_momentum


def lion_rounds_shares(plan: Plan) -> bool:
    """Whether the optimizer is Lion, and float32 betas are off by more than a rounding."""
    return plan.get(Step).optimizer == "lion" and rounds_shares(plan)


def stock(plan: Plan) -> bool:
    """Whether a class of Keras 3 is used as it is.

    Those of Keras 3 would sum the gradients of all processes again.
    """
    step = plan.get(Step)
    if step.optimizer == "lion":
        return _plain_optimizer(plan) and not lion_rounds_shares(plan)
    inside = step.rate_in_momentum or not step.momentum
    return step.optimizer == "sgd" and inside and not step.weight_decay and _plain_optimizer(plan)


def stock_of_keras2(plan: Plan) -> bool:
    """Whether a class of Keras 2 is used as it is.

    The moments of Keras 2 are held in another way by almost every release: of its optimizers only
    SGD without momentum is used.
    """
    step = plan.get(Step)
    return step.optimizer == "sgd" and not step.momentum and stock(plan)


def _plain_optimizer(plan: Plan) -> bool:
    special = half_weights(plan) or parallel(plan)
    return not plan.get(Step).groups and not special


def full_own_model(recipe: Recipe) -> bool:
    """Whether the weights of an unknown model are half."""
    return recipe.precision.mode == "full" and isinstance(recipe.model, CustomModel)


def products_in_float32(recipe: Recipe) -> bool:
    """Whether dense layers compute in float32, however their results are stored."""
    return recipe.precision.ops.matmul != "half"


def full_matmul_float32(recipe: Recipe) -> bool:
    """Whether half weights are multiplied in float32."""
    return recipe.precision.mode == "full" and recipe.precision.ops.matmul != "half"


def recomputes_dropout(recipe: Recipe) -> bool:
    """Whether activations of a model with dropout are computed again."""
    dropout = not isinstance(recipe.model, CustomModel) and recipe.model.dropout > 0
    return recipe.activation_checkpointing and dropout
