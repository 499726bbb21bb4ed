"""Which recipes a limit of a trainer is about."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.recipe import predicates
from crosscast.recipe.document import Recipe


def short_windows(recipe: Recipe) -> bool:
    """Whether an epoch may end with a short window."""
    rows = getattr(recipe.data, "train_rows", None)
    return rows is None or rows % recipe.batch.global_batch_size != 0


def short_micro(recipe: Recipe) -> bool:
    """Whether micro-batches may count differently."""
    rows = getattr(recipe.data, "train_rows", None)
    uneven = rows is None or rows % recipe.batch.micro_batch_size != 0
    return recipe.accumulation.normalize_by == "token" or (
        recipe.accumulation.normalize_by == "sample" and uneven
    )


def tail(*own: str) -> Callable[[Recipe], bool]:
    """Return whether short windows matter and are treated otherwise than a trainer does."""
    return lambda r: short_windows(r) and r.accumulation.tail not in own


def scale_knobs(recipe: Recipe) -> bool:
    """Whether the scale has more rules than GradScaler's."""
    scaling = recipe.loss_scaling
    return scaling.mode == "dynamic" and (
        scaling.hysteresis != 1 or scaling.max_scale is not None or scaling.floor > 1
    )


def fixed_factors(recipe: Recipe) -> bool:
    """Whether the scale neither doubles nor halves."""
    scaling = recipe.loss_scaling
    return scaling.mode == "dynamic" and (scaling.growth_factor, scaling.backoff_factor) != (2, 0.5)


def not_torch_scale(recipe: Recipe) -> bool:
    """Whether the scale begins or grows otherwise than by PyTorch's defaults."""
    scaling = recipe.loss_scaling
    return scaling.mode == "dynamic" and (scaling.init_scale, scaling.growth_interval) != (
        65536,
        2000,
    )


def rate_outside(recipe: Recipe) -> bool:
    """Whether momentum holds gradients without the rate, and the rate moves."""
    optimizer = recipe.optimizer
    if optimizer.name != "sgd" or not optimizer.momentum or not predicates.moving_rate(recipe):
        return False
    return not optimizer.rate_in_momentum


def corrected_epsilon(recipe: Recipe) -> bool:
    """Whether epsilon is added after the bias correction."""
    optimizer = recipe.optimizer
    if optimizer.name not in ("adam", "adamw"):
        return False
    return optimizer.eps_placement == "after_correction"
