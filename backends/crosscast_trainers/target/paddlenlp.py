"""PaddleNLP's Trainer: TrainingArguments as JSON and as a function.

The facts are read in the sources of PaddleNLP 2.8.1.
"""

from __future__ import annotations

from typing import Any

import crosscast_trainers.target.conditions as it
from crosscast.recipe import predicates
from crosscast.recipe.document import DynamicLossScaling, GlobalNormClipping, Recipe
from crosscast.targets.backend import Dialect, File
from crosscast.targets.capability import Evidence
from crosscast.targets.parameter_words import in_words
from crosscast_trainers.target.arguments import arguments_files, batch_and_rate, schedule_arguments
from crosscast_trainers.target.backend import LayerBackend
from crosscast_trainers.target.rows import PROBES, Facts, common, launched

FACTS = Facts(evidence=Evidence.DOCUMENTED, probe=f"{PROBES}test_paddlenlp_reads_its_arguments")
_OPTIMIZERS = "pass your optimizer to Trainer(optimizers=...)"

PRECISION_ROWS = (
    FACTS.near(
        "precision.mode",
        "with bfloat16, O2 also keeps normalization layers in half",
        "CC334",
        it.bfloat16_weights,
    ),
    FACTS.near("precision.ops", "Paddle's lists of O1 and O2 decide", "CC334", predicates.half),
    FACTS.near("precision.tf32", "the environment variable NVIDIA_TF32_OVERRIDE decides", "CC333"),
    FACTS.exact("precision", "fp16 or bf16, with fp16_opt_level O1 or O2"),
    FACTS.lacks(
        "loss_scaling.mode",
        "the loss scale is never constant: write mode: dynamic",
        "CC335",
        predicates.static,
    ),
    FACTS.lacks(
        "loss_scaling.mode",
        "float16 always comes with a loss scale: write mode: dynamic",
        "CC335",
        it.unscaled_float16,
    ),
    *(
        FACTS.near(f"loss_scaling.{name}", how, "CC335", when)
        for name, how, when in (
            ("growth_factor", "the scale doubles and halves", it.other_factors),
            ("backoff_factor", "the scale doubles and halves", it.other_factors),
            ("growth_interval", "the scale grows after 2000 clean steps", it.other_interval),
            ("min_scale", "the scale has no floor", it.bounded_below),
            ("max_scale", "the scale has no ceiling", it.bounded_above),
            ("hysteresis", "the scale backs off at the first overflow", predicates.hysteresis),
            ("hysteresis_mode", "the scale backs off at the first overflow", predicates.hysteresis),
        )
    ),
    FACTS.exact("loss_scaling", "GradScaler with scale_loss as its first scale"),
)
STEP_ROWS = (
    FACTS.near("seed", "seed, by which the Trainer's own sampler orders the rows", "CC333"),
    FACTS.near(
        "accumulation.normalize_by",
        "means of micro-batches are averaged, whatever their size",
        "CC336",
        it.uneven_micro_batches,
    ),
    FACTS.near(
        "accumulation.tail",
        "leftover micro-batches are added to the first window of the next epoch",
        "CC337",
        it.tail_is_not(""),
    ),
    FACTS.exact("accumulation.dtype", "amp_master_grad"),
    FACTS.lacks(
        "clipping.kind",
        "only the norm of all gradients can be clipped",
        "CC338",
        it.either(it.clips_values, predicates.clips_each),
    ),
    FACTS.lacks("clipping.exempt", "all gradients are clipped", "CC338", predicates.clips_some),
    FACTS.near("clipping.eps", "nothing is added to the norm", "CC338", it.clip_eps_is_not(0.0)),
    FACTS.exact("clipping", "max_grad_norm, 0 for none"),
    FACTS.adapted("optimizer.name", "AdamW without decay is the same", "CC367", it.plain_adam),
    FACTS.lacks(
        "optimizer.name",
        f"not supported in this variant: {_OPTIMIZERS}",
        "CC339",
        it.either(it.optimizer_is_not("adam", "adamw"), it.coupled_adam),
    ),
    FACTS.lacks(
        "optimizer.eps_placement",
        f"epsilon comes after the correction: {_OPTIMIZERS}",
        "CC339",
        predicates.raw_epsilon,
    ),
    FACTS.lacks(
        "optimizer.bias_correction",
        f"moments are always corrected: {_OPTIMIZERS}",
        "CC339",
        it.uncorrected,
    ),
    FACTS.lacks("optimizer.groups", f"not supported: {_OPTIMIZERS}", "CC344", predicates.grouped),
    FACTS.lacks(
        "optimizer.no_decay",
        "everything decays except biases and norms: write no_decay: [bias, layer_norm]",
        "CC344",
        it.spares_others,
    ),
    FACTS.near(
        "optimizer.no_decay",
        "weights with `bias` or `norm` in their names do not decay",
        "CC344",
        it.spares,
    ),
    FACTS.exact("optimizer", "optim, learning_rate, adam_*, weight_decay"),
    FACTS.lacks(
        "schedule.name",
        "write constant, linear, cosine or polynomial",
        "CC359",
        it.schedule_is_not("constant", "linear", "cosine", "polynomial"),
    ),
    FACTS.lacks(
        "schedule.warmup_start_lr", "a warm-up begins at 0", "CC359", it.warms_up_from_above_zero
    ),
    FACTS.lacks(
        "schedule.decay_from", "falls from the end of the warm-up", "CC359", it.falls_from_start
    ),
    FACTS.lacks(
        "schedule.end_lr",
        "the end is below the start: write constant",
        "CC359",
        it.never_falls,
    ),
    FACTS.lacks(
        "schedule.end_lr", "a cosine falls to 0: write end_lr 0", "CC359", it.curve_above_zero
    ),
    FACTS.adapted(
        "schedule.name", "polynomial of power 1, with lr_end", "CC367", it.line_above_zero
    ),
    FACTS.near(
        "schedule.tick",
        "a skipped step does not advance the schedule",
        "CC366",
        it.counts_attempts,
    ),
    FACTS.exact("schedule", "lr_scheduler_type, warmup_steps, max_steps, lr_end, power"),
    FACTS.near(
        "activation_checkpointing",
        "recompute: PaddleNLP's models support it, yours must, too",
        "CC333",
        predicates.recomputes,
    ),
)


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return the arguments for PdArgumentParser, and the function that makes them."""
    return arguments_files(recipe, "paddlenlp", "PaddleNLP's Trainer", _training_arguments(recipe))


def _training_arguments(recipe: Recipe) -> dict[str, Any]:
    clipping, schedule, scaling = recipe.clipping, recipe.schedule, recipe.loss_scaling
    limit = clipping.max_norm if isinstance(clipping, GlobalNormClipping) else 0.0
    arguments: dict[str, Any] = {
        "output_dir": f"runs/{recipe.name}-paddlenlp",
        **batch_and_rate(recipe),
        "optim": "adamw",
        **in_words("paddlenlp", {"clipping.max_norm": limit}),
        **schedule_arguments(recipe),
    }
    if schedule.name == "polynomial" or it.line_above_zero(recipe):
        arguments["lr_scheduler_type"] = "polynomial"
        end = {"schedule.end_lr": schedule.end_lr, "schedule.power": schedule.power}
        arguments |= in_words("paddlenlp", end)
    arguments |= {"fp16": predicates.float16(recipe), "bf16": predicates.bfloat16(recipe)}
    if recipe.half:
        arguments["fp16_opt_level"] = "O2" if predicates.half_weights(recipe) else "O1"
    if predicates.half_weights(recipe):
        arguments["amp_master_grad"] = not predicates.half_sums(recipe)
    if isinstance(scaling, DynamicLossScaling):
        arguments |= in_words("paddlenlp", {"loss_scaling.init_scale": scaling.init_scale})
    arguments["recompute"] = recipe.activation_checkpointing
    return arguments


BACKEND = LayerBackend(
    name="paddlenlp",
    title="PaddleNLP Trainer",
    distributions=("paddlenlp",),
    dialects=(
        Dialect(
            name="arguments",
            title="PaddleNLP 2.6 to 2.8",
            since="2.6",
            until="3.0",
            evidence=Evidence.DOCUMENTED,
            emits="configuration",
        ),
    ),
    rows=(*PRECISION_ROWS, *STEP_ROWS, launched(FACTS), *common(FACTS)),
    files=files,
)
"""PaddleNLP's Trainer by its arguments."""
