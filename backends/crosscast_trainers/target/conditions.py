"""Conditions of the rows: what of a recipe a layer of others does in its own way, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable

from crosscast.recipe import predicates
from crosscast.recipe.document import (
    AdamW,
    CrossEntropy,
    DynamicLossScaling,
    GlobalNormClipping,
    Recipe,
    SyntheticData,
)

Condition = Callable[[Recipe], bool]
FALLING = ("linear", "cosine", "polynomial")


def either(*conditions: Condition) -> Condition:
    """Return whether any of the conditions holds."""

    def any_of_them(recipe: Recipe) -> bool:
        return any(condition(recipe) for condition in conditions)

    any_of_them.__name__ = " or ".join(condition.__name__.strip("_") for condition in conditions)
    return any_of_them


def tf32(recipe: Recipe) -> bool:
    """Whether TensorFloat-32 is allowed."""
    return recipe.precision.tf32


def unscaled_float16(recipe: Recipe) -> bool:
    """Whether float16 runs without a loss scale."""
    return predicates.float16(recipe) and not recipe.scaling_on


def hysteresis_in_a_row(recipe: Recipe) -> bool:
    """Whether these overflows have to follow each other."""
    scaling = recipe.loss_scaling
    return (
        predicates.hysteresis(recipe) and getattr(scaling, "hysteresis_mode", "") == "consecutive"
    )


def bounded_below(recipe: Recipe) -> bool:
    """Whether the loss scale has a floor."""
    return getattr(recipe.loss_scaling, "min_scale", None) is not None


def bounded_above(recipe: Recipe) -> bool:
    """Whether the loss scale has a ceiling."""
    return getattr(recipe.loss_scaling, "max_scale", None) is not None


def other_factors(recipe: Recipe) -> bool:
    """Whether the loss scale does not double and halve."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and (
        (scaling.growth_factor, scaling.backoff_factor) != (2.0, 0.5)
    )


def other_interval(recipe: Recipe) -> bool:
    """Whether the loss scale does not wait for 2000 clean steps."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and scaling.growth_interval != 2000


def other_start(recipe: Recipe) -> bool:
    """Whether the loss scale does not begin as 65536."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and scaling.init_scale != 65536.0


def starts_between_powers(recipe: Recipe) -> bool:
    """Whether the first loss scale is not a power of two of at least 1."""
    start = getattr(recipe.loss_scaling, "init_scale", 1.0)
    return start < 1 or math.frexp(start)[0] != 0.5


def floor_between_integers(recipe: Recipe) -> bool:
    """Whether the lowest loss scale is not a positive integer."""
    floor = getattr(recipe.loss_scaling, "min_scale", 1.0)
    return floor is None or floor < 1 or floor != int(floor)


def skips_matter(recipe: Recipe) -> bool:
    """Whether a skipped step is anything to a schedule."""
    return recipe.scaling_on and predicates.moving_rate(recipe)


def counts_updates(recipe: Recipe) -> bool:
    """Whether a skipped step must not move the schedule."""
    return skips_matter(recipe) and recipe.schedule.tick == "update"


def counts_attempts(recipe: Recipe) -> bool:
    """Whether a skipped step must move the schedule."""
    return skips_matter(recipe) and recipe.schedule.tick == "attempt"


def uneven_micro_batches(recipe: Recipe) -> bool:
    """Whether that is not the mean of the micro-batches, as some may be shorter."""
    if predicates.by_tokens(recipe):
        return True
    data, rows = recipe.data, recipe.batch.micro_batch_size
    even = isinstance(data, SyntheticData) and data.train_rows % rows == 0
    full = recipe.accumulation.tail in ("carry", "drop")
    alone = recipe.accumulation.steps == recipe.processes == 1
    return predicates.by_rows(recipe) and rows > 1 and not (even or full or alone)


def counts_other_losses(recipe: Recipe) -> bool:
    """Whether rows or labels have to be counted for another loss than cross-entropy."""
    counts = predicates.by_tokens(recipe) or uneven_micro_batches(recipe)
    return counts and not isinstance(recipe.loss, CrossEntropy)


def smooths(recipe: Recipe) -> bool:
    """Whether labels are smoothed."""
    return isinstance(recipe.loss, CrossEntropy) and recipe.loss.label_smoothing > 0


def weighs_counted_labels(recipe: Recipe) -> bool:
    """Whether labels are smoothed or classes weighted, in a mean over rows or labels."""
    loss, counts = recipe.loss, recipe.accumulation.normalize_by != "microbatch"
    return counts and (smooths(recipe) or bool(getattr(loss, "class_weights", ())))


def tail_is_not(own: str) -> Condition:
    """Return whether epochs may end with a short window that is not treated as a layer does.

    A window of one micro-batch is short with that, which every layer steps with its own mean.
    """

    def short_windows(recipe: Recipe) -> bool:
        data = recipe.data
        rows = data.train_rows if isinstance(data, SyntheticData) else None
        if rows is not None and rows % recipe.batch.global_batch_size == 0:
            return False
        tail, unit = recipe.accumulation.tail, recipe.accumulation.normalize_by
        if recipe.accumulation.steps > 1:
            return tail != own
        return tail != "flush_renormalized" and (tail, unit) != ("flush", "microbatch")

    return short_windows


def clips_values(recipe: Recipe) -> bool:
    """Whether entries of the gradients are clipped."""
    return recipe.clipping.kind == "value"


def clip_eps_is_not(own: float) -> Condition:
    """Return whether a norm is clipped with another epsilon than a layer's."""

    def other_clip_eps(recipe: Recipe) -> bool:
        clipping = recipe.clipping
        return isinstance(clipping, GlobalNormClipping) and clipping.eps != own

    return other_clip_eps


def optimizer_is_not(*names: str) -> Condition:
    """Return whether the optimizer is another one."""

    def another_optimizer(recipe: Recipe) -> bool:
        return recipe.optimizer.name not in names

    return another_optimizer


def coupled_adam(recipe: Recipe) -> bool:
    """Whether it is Adam with decay in the gradient."""
    return recipe.optimizer.name == "adam" and predicates.decays(recipe)


def plain_adam(recipe: Recipe) -> bool:
    """Whether it is Adam without decay."""
    return recipe.optimizer.name == "adam" and not predicates.decays(recipe)


def spares(recipe: Recipe) -> bool:
    """Whether some roles do not decay."""
    return recipe.optimizer.weight_decay > 0 and bool(recipe.optimizer.no_decay)


def spares_others(recipe: Recipe) -> bool:
    """Whether other roles are spared from decay than biases and normalization layers."""
    own = {"bias", "layer_norm"}
    return recipe.optimizer.weight_decay > 0 and set(recipe.optimizer.no_decay) != own


def uncorrected(recipe: Recipe) -> bool:
    """Whether moments are not corrected."""
    return getattr(recipe.optimizer, "bias_correction", True) is False


def momentum(recipe: Recipe) -> bool:
    """Whether SGD has a momentum."""
    return getattr(recipe.optimizer, "momentum", 0.0) > 0


def decoupled(recipe: Recipe) -> bool:
    """Whether it is AdamW."""
    return isinstance(recipe.optimizer, AdamW)


def warms_up(recipe: Recipe) -> bool:
    """Whether the rate warms up."""
    return recipe.schedule.warmup_steps > 0


def schedule_is_not(*names: str) -> Condition:
    """Return whether the schedule is another one; a polynomial of power 1 is linear."""

    def another_schedule(recipe: Recipe) -> bool:
        return shape(recipe) not in names

    return another_schedule


def shape(recipe: Recipe) -> str:
    """Return the name of the schedule; a polynomial of power 1 is linear."""
    schedule = recipe.schedule
    return "linear" if schedule.name == "polynomial" and schedule.power == 1 else schedule.name


def warms_up_briefly(recipe: Recipe) -> bool:
    """Whether the rate moves, after a warm-up of less than two steps."""
    return predicates.moving_rate(recipe) and recipe.schedule.warmup_steps < 2


def warms_up_from_above_zero(recipe: Recipe) -> bool:
    """Whether the rate of the first step of a warm-up is not 0."""
    return warms_up(recipe) and recipe.schedule.warmup_start_lr > 0


def curve_from_above_zero(recipe: Recipe) -> bool:
    """Whether that is so, and the rate falls as a cosine after it."""
    return warms_up_from_above_zero(recipe) and recipe.schedule.name == "cosine"


def linear(recipe: Recipe) -> bool:
    """Whether the rate falls in a line."""
    return shape(recipe) == "linear"


def falls_from_start(recipe: Recipe) -> bool:
    """Whether the fall counts from the start, although there is a warm-up."""
    schedule = recipe.schedule
    return schedule.name in FALLING and schedule.decay_from == "start" and warms_up(recipe)


def ends_above_zero(recipe: Recipe) -> bool:
    """Whether the rate does not fall to 0."""
    return recipe.schedule.name in FALLING and recipe.schedule.end_lr > 0


def line_above_zero(recipe: Recipe) -> bool:
    """Whether it falls in a line, and not to 0."""
    return linear(recipe) and ends_above_zero(recipe)


def falls_elsewhere(recipe: Recipe) -> bool:
    """Whether it falls in a line, and to another rate than the warm-up begins with."""
    return linear(recipe) and recipe.schedule.end_lr != recipe.schedule.warmup_start_lr


def curve_above_zero(recipe: Recipe) -> bool:
    """Whether it falls as a cosine, and not to 0."""
    return recipe.schedule.name == "cosine" and ends_above_zero(recipe)


def never_falls(recipe: Recipe) -> bool:
    """Whether a polynomial ends where it starts."""
    schedule = recipe.schedule
    return (
        shape(recipe) in ("linear", "polynomial")
        and schedule.end_lr >= recipe.optimizer.learning_rate
    )


def leaves_out_or_renormalizes(recipe: Recipe) -> bool:
    """Whether a short window is left out, or divided by what it holds."""
    carries = recipe.accumulation.tail == "carry" and recipe.accumulation.steps > 1
    return tail_is_not("flush")(recipe) and not carries


def bfloat16_weights(recipe: Recipe) -> bool:
    """Whether the model computes with bfloat16 weights."""
    return predicates.half_weights(recipe) and predicates.bfloat16(recipe)
