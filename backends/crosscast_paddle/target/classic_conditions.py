"""When a recipe says something else than the classic Paddle scripts do; used by their rows."""

from __future__ import annotations

from crosscast.recipe import predicates
from crosscast.recipe.document import (
    Adam,
    AdamW,
    BertModel,
    DynamicLossScaling,
    GlobalNormClipping,
    Recipe,
    Schedule,
    StaticLossScaling,
)

CLIP_NORM = 1.0
LARGEST_HALF = 65504.0
MODELS_RULE = (1000, 2, 2.0, 0.8)
"""Interval, overflows, growth and back-off that PaddlePaddle/models cannot change."""
NEGLIGIBLE_EPS = 1e-6


def narrow(recipe: Recipe) -> bool:
    """A feed-forward layer that is not 4 times as wide as the encoder."""
    model = recipe.model
    return isinstance(model, BertModel) and model.intermediate_size != 4 * model.hidden_size


def other_norm_eps(recipe: Recipe) -> bool:
    """An epsilon of LayerNorm that is not Paddle's default."""
    return isinstance(recipe.model, BertModel) and recipe.model.layer_norm_eps != 1e-5


def other_dropout(recipe: Recipe) -> bool:
    """Another dropout than the classifier's."""
    return isinstance(recipe.model, BertModel) and recipe.model.dropout != 0.1


def other_classes(recipe: Recipe) -> bool:
    """A number of classes that no task of the BERT scripts has."""
    return isinstance(recipe.model, BertModel) and recipe.model.labels not in (2, 3)


def fixed_order(recipe: Recipe) -> bool:
    """Rows in the order of the file."""
    return not recipe.data.shuffle


def not_carried(recipe: Recipe) -> bool:
    """A short last window that is not filled from the next epoch."""
    return recipe.accumulation.tail != "carry"


def not_flushed(recipe: Recipe) -> bool:
    """A short last window that is not stepped with its own mean, or is spread over processes."""
    return recipe.accumulation.tail != "flush_renormalized" or recipe.processes > 1


def counts_micro_batches(recipe: Recipe) -> bool:
    """A mean of the processes' means, whose batches may be of different sizes."""
    accumulation = recipe.accumulation
    full = recipe.processes == 1 or accumulation.tail in ("carry", "drop")
    return accumulation.normalize_by == "microbatch" and not full


def scaled_by_one(recipe: Recipe) -> bool:
    """A constant scale that scales nothing."""
    return isinstance(recipe.loss_scaling, StaticLossScaling) and recipe.loss_scaling.scale == 1


def own_rule(recipe: Recipe) -> bool:
    """Bounds of the scale, or a way of counting overflows, that Paddle has not."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and (
        scaling.min_scale != 1.0
        or scaling.max_scale is not None
        or scaling.hysteresis_mode != "consecutive"
    )


def unsayable_rule(recipe: Recipe) -> bool:
    """Another rule than the one built into PaddlePaddle/models."""
    scaling = recipe.loss_scaling
    return (
        isinstance(scaling, DynamicLossScaling)
        and (
            scaling.growth_interval,
            scaling.hysteresis,
            scaling.growth_factor,
            scaling.backoff_factor,
        )
        != MODELS_RULE
    )


def beyond_half(recipe: Recipe) -> bool:
    """A constant scale that is inf as a float16 number, or that LARK takes for none."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, StaticLossScaling) and not 1 <= scaling.scale <= LARGEST_HALF


def other_clipping(recipe: Recipe) -> bool:
    """Anything but the global norm clipped to 1."""
    return _clips_otherwise(recipe, CLIP_NORM)


def other_lark_clipping(recipe: Recipe) -> bool:
    """Anything but the global norm clipped to 1, or in float16 to the constant scale."""
    scaling = recipe.loss_scaling
    if predicates.float16(recipe) and isinstance(scaling, StaticLossScaling):
        return _clips_otherwise(recipe, max(CLIP_NORM, scaling.scale))
    return _clips_otherwise(recipe, CLIP_NORM)


def _clips_otherwise(recipe: Recipe, norm: float) -> bool:
    clipping = recipe.clipping
    if not isinstance(clipping, GlobalNormClipping) or clipping.exempt:
        return True
    return clipping.max_norm != norm or clipping.eps > NEGLIGIBLE_EPS


def other_optimizer(recipe: Recipe) -> bool:
    """Anything but Adam with decoupled decay, which without decay is Adam."""
    optimizer = recipe.optimizer
    decoupled = isinstance(optimizer, AdamW)
    return not (decoupled or (isinstance(optimizer, Adam) and not optimizer.weight_decay))


def other_betas(recipe: Recipe) -> bool:
    """Other betas than Paddle's defaults."""
    optimizer = recipe.optimizer
    return isinstance(optimizer, Adam | AdamW) and optimizer.betas != (0.9, 0.999)


def other_eps(recipe: Recipe) -> bool:
    """Another epsilon than Paddle's default."""
    return isinstance(recipe.optimizer, Adam | AdamW) and recipe.optimizer.eps != 1e-8


def other_decay(recipe: Recipe) -> bool:
    """Weight decay on other parameters than the scripts' filter leaves."""
    optimizer = recipe.optimizer
    return optimizer.weight_decay > 0 and set(optimizer.no_decay) != {"bias", "layer_norm"}


def eps_after_correction(recipe: Recipe) -> bool:
    """Epsilon where Paddle 1 has it not."""
    optimizer = recipe.optimizer
    return isinstance(optimizer, Adam | AdamW) and optimizer.eps_placement == "after_correction"


def other_schedule(recipe: Recipe) -> bool:
    """A shape that neither `linear_warmup_decay`, `noam_decay` nor a constant rate has."""
    schedule = recipe.schedule
    if schedule.warmup_start_lr:
        return True
    if schedule.name == "constant":
        return schedule.warmup_steps > 0
    if not schedule.warmup_steps:  # the scripts then keep the rate constant
        return True
    return not (schedule.name == "inverse_sqrt" or _falls_from_the_start(schedule))


def _falls_from_the_start(schedule: Schedule) -> bool:
    straight = schedule.name == "linear" or (schedule.name == "polynomial" and schedule.power == 1)
    return straight and schedule.decay_from == "start" and schedule.end_lr == 0


def noam(recipe: Recipe) -> bool:
    """The inverse square root."""
    return recipe.schedule.name == "inverse_sqrt"


def counts_updates(recipe: Recipe) -> bool:
    """A schedule that overflowed steps do not advance."""
    return predicates.dynamic(recipe) and recipe.schedule.tick == "update"


def skips_nothing(recipe: Recipe) -> bool:
    """A schedule that overflowed steps do not advance, where no overflow is looked for."""
    return predicates.static(recipe) and recipe.schedule.tick == "update"
