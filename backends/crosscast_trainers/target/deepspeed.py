"""DeepSpeed: ds_config.json, and the parameter groups that it cannot hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import crosscast_trainers.target.conditions as it
from crosscast.emit.frame import frame_of
from crosscast.emit.view import header
from crosscast.recipe import predicates
from crosscast.recipe.document import (
    Adam,
    AdamW,
    DynamicLossScaling,
    GlobalNormClipping,
    Lion,
    Recipe,
    Sgd,
    StaticLossScaling,
)
from crosscast.targets.backend import Dialect, File
from crosscast.targets.capability import Evidence
from crosscast.targets.parameter_words import in_words
from crosscast_torch.target.optimizer import OptimizerView
from crosscast_trainers.target.backend import LayerBackend, json_file
from crosscast_trainers.target.rows import PROBES, Facts, common
from crosscast_trainers.target.training import torch_optimizer, torch_plan

FACTS = Facts(evidence=Evidence.DOCUMENTED, probe=f"{PROBES}test_deepspeed_reads_its_configuration")
_OWN = "pass your optimizer to deepspeed.initialize"

PRECISION_ROWS = (
    FACTS.near(
        "precision",
        "all weights and the values computed from them are half, with float32 masters",
        "CC334",
        predicates.half,
    ),
    FACTS.exact("precision", "float32"),
    FACTS.near(
        "precision.ops",
        "operations follow the half weights, also the loss",
        "CC334",
        predicates.half,
    ),
    FACTS.exact("precision.compute_dtype", "fp16.enabled or bf16.enabled"),
    FACTS.near("precision.tf32", "a PyTorch setting, set by your program", "CC333", it.tf32),
    FACTS.exact("precision.tf32", "PyTorch's default"),
    FACTS.near(
        "loss_scaling.mode",
        "bfloat16 has no loss scale, but overflowed steps are skipped",
        "CC335",
        predicates.bfloat16,
    ),
    FACTS.near(
        "loss_scaling.mode",
        "a scale of 1: overflowed steps are skipped",
        "CC335",
        it.unscaled_float16,
    ),
    FACTS.exact("loss_scaling", "fp16.loss_scale, 0 for a dynamic one"),
    FACTS.lacks(
        "loss_scaling.init_scale",
        "the scale is stored as its power of two: write a power of two of at least 1",
        "CC335",
        it.starts_between_powers,
    ),
    *(
        FACTS.lacks(f"loss_scaling.{name}", f"the scale {how}", "CC335", it.other_factors)
        for name, how in (
            ("growth_factor", "doubles: write 2"),
            ("backoff_factor", "halves: write 0.5"),
        )
    ),
    FACTS.near(
        "loss_scaling.growth_interval",
        "after the start and after an overflow the scale grows one clean step later",
        "CC335",
        predicates.dynamic,
    ),
    FACTS.near(
        "loss_scaling.hysteresis_mode",
        "consecutive_hysteresis: after a back-off, every overflow backs off until a clean step",
        "CC335",
        it.hysteresis_in_a_row,
    ),
    FACTS.lacks(
        "loss_scaling.min_scale",
        "min_loss_scale is an integer of at least 1",
        "CC335",
        it.floor_between_integers,
    ),
    FACTS.exact("loss_scaling.min_scale", "min_loss_scale; an overflow there ends the run"),
    FACTS.lacks("loss_scaling.max_scale", "the scale has no ceiling", "CC335", it.bounded_above),
)
STEP_ROWS = (
    FACTS.near("seed", "your program sets seeds", "CC333"),
    FACTS.near(
        "accumulation.normalize_by",
        "means of micro-batches are averaged, whatever their size",
        "CC336",
        it.uneven_micro_batches,
    ),
    FACTS.near(
        "accumulation.tail",
        "a short window is filled from the next epoch, as with tail: carry",
        "CC337",
        it.tail_is_not("carry"),
    ),
    FACTS.exact("distributed", "train_batch_size, which says how many processes there are"),
    FACTS.exact("accumulation.dtype", "data_types.grad_accum_dtype"),
    FACTS.lacks(
        "clipping.kind",
        "only the norm of all gradients can be clipped",
        "CC338",
        it.either(it.clips_values, predicates.clips_each),
    ),
    FACTS.lacks("clipping.exempt", "all gradients are clipped", "CC338", predicates.clips_some),
    FACTS.near(
        "clipping.eps",
        "the norm is clipped with an epsilon of 1e-6",
        "CC338",
        it.clip_eps_is_not(1e-6),
    ),
    FACTS.exact("clipping", "gradient_clipping, 0 for none"),
    FACTS.lacks(
        "optimizer.name",
        f"not supported in this variant: {_OWN}",
        "CC339",
        it.optimizer_is_not("sgd", "adam", "adamw", "lion"),
    ),
    FACTS.lacks(
        "optimizer.rate_in_momentum",
        f"the rate multiplies the momentum: {_OWN}",
        "CC339",
        predicates.rate_in_momentum,
    ),
    FACTS.lacks(
        "optimizer.eps_placement",
        f"epsilon comes after the correction: {_OWN}",
        "CC339",
        predicates.raw_epsilon,
    ),
    FACTS.near(
        "optimizer.no_decay",
        "one decay for all: pass parameter_groups(model) to deepspeed.initialize",
        "CC344",
        it.spares,
    ),
    FACTS.near(
        "optimizer.groups",
        "not supported: pass parameter_groups(model) to deepspeed.initialize",
        "CC344",
        predicates.grouped,
    ),
    FACTS.exact("optimizer", "optimizer.type and params"),
    FACTS.lacks(
        "schedule.name",
        "write constant, linear or cosine",
        "CC359",
        it.schedule_is_not("constant", "linear", "cosine"),
    ),
    FACTS.near(
        "schedule.warmup_steps", "a warm-up has at least two steps", "CC359", it.warms_up_briefly
    ),
    FACTS.near(
        "schedule.name",
        "the warm-up comes one step later",
        "CC359",
        predicates.moving_rate,
    ),
    FACTS.near(
        "schedule.warmup_start_lr",
        "the first update of WarmupCosineLR has rate 0",
        "CC359",
        it.curve_from_above_zero,
    ),
    FACTS.lacks(
        "schedule.decay_from", "falls from the end of the warm-up", "CC359", it.falls_from_start
    ),
    FACTS.lacks(
        "schedule.end_lr",
        "WarmupDecayLR falls to the rate that it begins with: write end_lr and warmup_start_lr "
        "alike, or cosine",
        "CC359",
        it.falls_elsewhere,
    ),
    FACTS.near(
        "schedule.tick",
        "a skipped step does not advance the schedule",
        "CC366",
        it.counts_attempts,
    ),
    FACTS.near(
        "schedule.total_steps",
        "your program ends the run",
        "CC333",
        it.schedule_is_not("linear", "cosine"),
    ),
    FACTS.exact("schedule", "scheduler.type and params, counted in updates"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametersView:
    """Parameter groups, for an optimizer that DeepSpeed makes."""

    header: tuple[str, ...]
    optimizer: OptimizerView
    learning_rate: float


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return ds_config.json; parameters.py where parameters differ."""
    emitted = [json_file("ds_config.json", configuration(recipe))]
    if it.spares(recipe) or predicates.grouped(recipe):
        view = ParametersView(
            header=header(frame_of(recipe), "parameter groups for DeepSpeed"),
            optimizer=torch_optimizer(torch_plan(recipe)),
            learning_rate=recipe.optimizer.learning_rate,
        )
        template = "trainers/deepspeed/parameters.py.j2"
        emitted.append(File(path="parameters.py", template=template, view={"view": view}))
    return tuple(emitted)


def configuration(recipe: Recipe) -> dict[str, Any]:
    """Return the configuration as DeepSpeed's JSON has it."""
    clipping = recipe.clipping
    limit = clipping.max_norm if isinstance(clipping, GlobalNormClipping) else 0.0
    values = {
        "batch.global_batch_size": recipe.batch.global_batch_size,
        "batch.micro_batch_size": recipe.batch.micro_batch_size,
        "accumulation.steps": recipe.accumulation.steps,
        "clipping.max_norm": limit,
    }
    document: dict[str, Any] = {
        **in_words("deepspeed", values),
        "zero_optimization": {"stage": 1 if recipe.half else 0},
    }
    if recipe.half:
        # Without ZeRO there is no hysteresis, and the sums of gradients are half.
        if not isinstance(recipe.optimizer, Adam | AdamW):
            document["zero_allow_untested_optimizer"] = True
        document |= _half(recipe)
    document["optimizer"] = {"type": _TYPES[recipe.optimizer.name], "params": _parameters(recipe)}
    if predicates.moving_rate(recipe):
        document["scheduler"] = _scheduler(recipe)
    return document


_TYPES = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "lion": "Lion"}


def _half(recipe: Recipe) -> dict[str, Any]:
    short = {"float16": "fp16", "bfloat16": "bf16"}[recipe.half]
    sums = short if recipe.accumulation.dtype == "compute" else "fp32"
    return {
        short: {"enabled": True, **(_scaling(recipe) if short == "fp16" else {})},
        "data_types": {"grad_accum_dtype": sums},
    }


def _scaling(recipe: Recipe) -> dict[str, Any]:
    scaling = recipe.loss_scaling
    if isinstance(scaling, DynamicLossScaling):
        counts = {
            "loss_scaling.growth_interval": scaling.growth_interval,
            "loss_scaling.hysteresis": scaling.hysteresis,
        }
        return {
            "loss_scale": 0,
            "initial_scale_power": int(math.log2(scaling.init_scale)),
            **in_words("deepspeed", counts),
            "consecutive_hysteresis": it.hysteresis_in_a_row(recipe),
            # The rows refuse a scale without a floor.
            **in_words("deepspeed", {"loss_scaling.min_scale": int(scaling.min_scale or 1)}),
        }
    return {"loss_scale": scaling.scale if isinstance(scaling, StaticLossScaling) else 1.0}


def _parameters(recipe: Recipe) -> dict[str, Any]:
    optimizer = recipe.optimizer
    values: dict[str, Any] = {"optimizer.learning_rate": optimizer.learning_rate}
    if isinstance(optimizer, Sgd):
        values["optimizer.momentum"] = optimizer.momentum
        values["optimizer.nesterov"] = optimizer.nesterov
    if isinstance(optimizer, Adam | AdamW | Lion):
        values["optimizer.betas"] = list(optimizer.betas)
    if isinstance(optimizer, Adam | AdamW):
        values["optimizer.eps"] = optimizer.eps
    values["optimizer.weight_decay"] = optimizer.weight_decay
    parameters = in_words("deepspeed", values)
    if isinstance(optimizer, Adam | AdamW):
        parameters["adam_w_mode"] = isinstance(optimizer, AdamW)
        if not optimizer.bias_correction:
            parameters["bias_correction"] = False
    return parameters


def _scheduler(recipe: Recipe) -> dict[str, Any]:
    schedule, rate = recipe.schedule, recipe.optimizer.learning_rate
    steps = in_words("deepspeed", {"schedule.warmup_steps": max(1, schedule.warmup_steps)})
    warmup = {**steps, "warmup_type": "linear"}
    total = in_words("deepspeed", {"schedule.total_steps": schedule.total_steps})
    rates = {"warmup_min_lr": schedule.warmup_start_lr, "warmup_max_lr": rate}
    match it.shape(recipe):
        case "constant":
            return {"type": "WarmupLR", "params": {**rates, **warmup}}
        case "linear":
            return {"type": "WarmupDecayLR", "params": {**total, **rates, **warmup}}
        case _:
            params = {
                **total,
                "warmup_min_ratio": schedule.warmup_start_lr / rate,
                "cos_min_ratio": schedule.end_lr / rate,
            }
            return {"type": "WarmupCosineLR", "params": {**params, **warmup}}


BACKEND = LayerBackend(
    name="deepspeed",
    title="DeepSpeed",
    distributions=("deepspeed",),
    dialects=(
        Dialect(
            name="json",
            title="DeepSpeed 0.16 or newer",
            since="0.16",
            evidence=Evidence.DOCUMENTED,
            emits="configuration",
        ),
    ),
    rows=(*PRECISION_ROWS, *STEP_ROWS, *common(FACTS)),
    files=files,
)
"""DeepSpeed by its JSON."""
