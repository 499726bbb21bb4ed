"""Conditions of the rows: what of a recipe needs more than stock PyTorch."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.plan.operations import Clip, Plan, Step, UpdateScale
from crosscast.recipe.document import BertModel, OpTypes, Recipe
from crosscast.recipe.predicates import stores_half
from crosscast.targets.half_kernels import kernel_types

STOCK_CLIP_EPS = 1e-6
"""What torch.nn.utils.clip_grad_norm_ adds to the norm."""


def stock_scale(plan: Plan) -> bool:
    """Whether GradScaler adjusts the scale."""
    return predicates.dynamic(plan) and not predicates.hysteresis(plan)


def lowest_scale(plan: Plan) -> bool:
    """Whether the scale that GradScaler adjusts has a lowest value."""
    return stock_scale(plan) and predicates.lowest_scale(plan)


def highest_scale(plan: Plan) -> bool:
    """Whether the scale that GradScaler adjusts has a highest value."""
    return stock_scale(plan) and plan.get(UpdateScale).max_scale is not None


def cumulative_hysteresis(plan: Plan) -> bool:
    """Whether clean steps between these overflows do not matter."""
    return predicates.hysteresis(plan) and plan.get(UpdateScale).hysteresis_mode == "cumulative"


def writes_casts(recipe: Recipe) -> bool:
    """Whether the emitted model casts explicitly, because autocast would cast differently."""
    precision = recipe.precision
    other = precision.mode == "full" or precision.ops != OpTypes()
    return isinstance(recipe.model, BertModel) and other


def copies_weights(recipe: Recipe) -> bool:
    """Whether half copies of the weights of layers make all operations half, as the recipe says."""
    mixed = recipe.precision.mode == "mixed" and isinstance(recipe.model, BertModel)
    if not mixed or not stores_half(recipe):
        return False
    kinds = kernel_types(recipe.precision.ops)
    of_layers = ("matmul", "pointwise", "reductions", "residual")
    return all(kinds[name] == "half" for name in of_layers) and kinds["embeddings"] != "float32"


def half_weights_float32_sums(plan: Plan) -> bool:
    """Whether their gradients are summed in float32."""
    return predicates.half_weights(plan) and not predicates.half_sums(plan)


def scaled_momentum(plan: Plan) -> bool:
    """Whether the momentum of torch.optim.SGD could meet a skipped first step."""
    step = plan.get(Step)
    stock = step.optimizer == "sgd" and not step.rate_in_momentum
    return stock and step.momentum > 0 and predicates.scaled(plan)


def adam_rounds_shares(plan: Plan) -> bool:
    """Whether the optimizer is an Adam, and float32 betas are off by more than a rounding."""
    return predicates.is_adam(plan.get(Step)) and predicates.rounds_shares(plan)


def lamb_or_lion(plan: Plan) -> bool:
    """Whether the optimizer is one that torch.optim has in no version."""
    return plan.get(Step).optimizer in ("lamb", "lion")


def own_clip(plan: Plan) -> bool:
    """Whether a norm is clipped with another epsilon than PyTorch's."""
    return predicates.clips_norm(plan) and plan.get(Clip).eps != STOCK_CLIP_EPS
