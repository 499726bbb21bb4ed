"""The Trainer of Hugging Face: TrainingArguments as JSON and as a function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import crosscast_trainers.target.conditions as it
from crosscast.emit.render import py_literal
from crosscast.recipe import predicates
from crosscast.recipe.document import CrossEntropy, GlobalNormClipping, Recipe, Sgd
from crosscast.targets.backend import Dialect, File
from crosscast.targets.capability import Evidence
from crosscast.targets.parameter_words import in_words
from crosscast_trainers.target.arguments import (
    SummedLoss,
    arguments_files,
    batch_and_rate,
    schedule_arguments,
)
from crosscast_trainers.target.backend import LayerBackend
from crosscast_trainers.target.rows import (
    PROBES,
    Facts,
    clips_by_torch,
    common,
    launched,
    torch_precision,
)

NEW = "arguments"
OLD = "arguments-4"
SGD_ARGUMENTS = "sgd_arguments"
"""`optim_args` sets the momentum of SGD."""
RENAMED = "renamed"
"""`gradient_checkpointing` is called `activation_checkpointing`."""
FACTS = Facts(
    evidence=Evidence.MEASURED_CPU, probe=f"{PROBES}test_transformers_reads_its_arguments"
)
_CONFORMANCE = "trainers/test_conformance.py::test_answers_are_those_of_the_page"
_REPORTS = f"{PROBES}test_transformers_reports_to_the_trackers"
_SMOOTHED = f"{PROBES}test_transformers_smooths_labels_as_a_recipe_does"
_COMPUTE_LOSS = "pass compute_loss of training_arguments.py to Trainer(compute_loss_func=...)"
_OPTIMIZERS = "pass your optimizer to Trainer(optimizers=...)"

ROWS = (
    FACTS.near("seed", "seed, by which the Trainer's own sampler orders the rows", "CC333"),
    *torch_precision(FACTS),
    FACTS.exact("precision", "fp16, bf16"),
    FACTS.exact("precision.tf32", "tf32"),
    *(
        FACTS.near(f"loss_scaling.{name}", how, "CC335", when)
        for name, how, when in (
            ("init_scale", "the scale begins as 65536", it.other_start),
            ("growth_factor", "the scale doubles and halves", it.other_factors),
            ("backoff_factor", "the scale doubles and halves", it.other_factors),
            ("growth_interval", "the scale grows after 2000 clean steps", it.other_interval),
        )
    ),
    FACTS.exact("loss_scaling", "GradScaler as it comes"),
    FACTS.near("loss", _COMPUTE_LOSS, "CC333", it.weighs_counted_labels, _SMOOTHED),
    FACTS.near("loss", "your model and label_smoothing_factor", "CC333", it.smooths, _SMOOTHED),
    FACTS.near(
        "accumulation.normalize_by",
        "pass a Trainer(compute_loss_func=...) that divides by num_items_in_batch",
        "CC333",
        it.counts_other_losses,
    ),
    FACTS.near("accumulation.normalize_by", _COMPUTE_LOSS, "CC333", predicates.by_tokens),
    FACTS.near("accumulation.normalize_by", _COMPUTE_LOSS, "CC333", it.uneven_micro_batches),
    FACTS.near(
        "accumulation.tail",
        "a short window is divided by its own size, as with tail: flush_renormalized",
        "CC337",
        it.tail_is_not("flush_renormalized"),
        _CONFORMANCE,
    ),
    *clips_by_torch(FACTS, values=False),
    FACTS.exact("clipping", "max_grad_norm, 0 for none"),
    FACTS.adapted("optimizer.name", "AdamW without decay is the same", "CC367", it.plain_adam),
    FACTS.lacks(
        "optimizer.name",
        f"not supported in this variant: {_OPTIMIZERS}",
        "CC339",
        it.either(it.optimizer_is_not("sgd", "adam", "adamw"), it.coupled_adam),
    ),
    FACTS.lacks(
        "optimizer.rate_in_momentum",
        f"the rate multiplies the momentum: {_OPTIMIZERS}",
        "CC339",
        predicates.rate_in_momentum,
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
        "biases and LayerNorm never decay, all else does: write no_decay: [bias, layer_norm]",
        "CC344",
        it.spares_others,
    ),
    FACTS.exact("optimizer", "optim, learning_rate, adam_*, weight_decay"),
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
    FACTS.adapted(
        "schedule.name", "polynomial of power 1, with lr_end", "CC367", it.line_above_zero
    ),
    FACTS.adapted("schedule.name", "cosine_with_min_lr", "CC367", it.curve_above_zero),
    FACTS.near(
        "schedule.tick",
        "a skipped step does not advance the schedule",
        "CC366",
        it.counts_attempts,
        _CONFORMANCE,
    ),
    FACTS.exact("schedule", "lr_scheduler_type, warmup_steps, max_steps"),
    FACTS.near(
        "activation_checkpointing",
        "the library's models support it, yours must, too",
        "CC333",
        predicates.recomputes,
    ),
    FACTS.near(
        "tracking",
        "report_to, at every step; WANDB_PROJECT, MLFLOW_EXPERIMENT_NAME and so on name the rest, "
        "and Weights & Biases is offline with WANDB_MODE=offline only",
        "CC333",
        probe=_REPORTS,
    ),
    launched(FACTS),
    *common(FACTS),
)
_READ = Facts(evidence=Evidence.DOCUMENTED, probe="none: older than what the tests install")
OLD_ROWS = (
    _READ.lacks("optimizer.momentum", f"SGD has no momentum: {_OPTIMIZERS}", "CC339", it.momentum),
)


def files(recipe: Recipe, dialect: Dialect) -> tuple[File, ...]:
    """Return the arguments for HfArgumentParser, and the function that makes them."""
    title = "Hugging Face's Trainer"
    arguments = _training_arguments(recipe, dialect)
    return arguments_files(recipe, "transformers", title, arguments, summed=_summed_loss(recipe))


def _summed_loss(recipe: Recipe) -> SummedLoss | None:
    loss, by_micro_batch = recipe.loss, recipe.accumulation.normalize_by == "microbatch"
    if by_micro_batch or not isinstance(loss, CrossEntropy):
        return None
    return SummedLoss(smoothing=loss.label_smoothing, weights=loss.class_weights)


def _training_arguments(recipe: Recipe, dialect: Dialect) -> dict[str, Any]:
    clipping, schedule = recipe.clipping, recipe.schedule
    limit = clipping.max_norm if isinstance(clipping, GlobalNormClipping) else 0.0
    arguments: dict[str, Any] = {
        "output_dir": f"runs/{recipe.name}-transformers",
        **batch_and_rate(recipe),
        **in_words("transformers", {"clipping.max_norm": limit}),
        **schedule_arguments(recipe),
    }
    loss = recipe.loss
    if isinstance(loss, CrossEntropy) and loss.label_smoothing and _summed_loss(recipe) is None:
        arguments["label_smoothing_factor"] = loss.label_smoothing
    kwargs: dict[str, float] = {}
    if it.curve_above_zero(recipe):
        arguments["lr_scheduler_type"] = "cosine_with_min_lr"
        kwargs = {"min_lr": schedule.end_lr}
    elif schedule.name == "polynomial" or it.line_above_zero(recipe):
        arguments["lr_scheduler_type"] = "polynomial"
        kwargs = {"lr_end": schedule.end_lr, "power": schedule.power}
    if kwargs:
        arguments["lr_scheduler_kwargs"] = kwargs
    arguments |= _optimizer(recipe, dialect)
    arguments |= {"fp16": predicates.float16(recipe), "bf16": predicates.bfloat16(recipe)}
    if recipe.precision.tf32:
        arguments["tf32"] = True
    if recipe.tracking.used:
        trackers = [name for name, value in recipe.tracking if value is not None]
        arguments |= {"report_to": trackers, "logging_steps": 1}
    if recipe.activation_checkpointing:
        renamed = RENAMED in dialect.features
        arguments["activation_checkpointing" if renamed else "gradient_checkpointing"] = True
    return arguments


def _optimizer(recipe: Recipe, dialect: Dialect) -> dict[str, Any]:
    optimizer = recipe.optimizer
    if not isinstance(optimizer, Sgd):
        return {"optim": "adamw_torch"}
    arguments: dict[str, Any] = {"optim": "sgd"}
    if optimizer.momentum and SGD_ARGUMENTS in dialect.features:
        momentum = f"momentum={py_literal(optimizer.momentum)}"
        arguments["optim_args"] = f"{momentum},nesterov={str(optimizer.nesterov).lower()}"
    return arguments


_OF_OLD = tuple(replace(row, dialects=frozenset({OLD})) for row in OLD_ROWS)
BACKEND = LayerBackend(
    name="transformers",
    title="Hugging Face Trainer",
    distributions=("transformers",),
    dialects=(
        Dialect(
            name=NEW,
            title="Transformers 5.23 or newer",
            since="5.23",
            newest="5.23",
            features=frozenset({SGD_ARGUMENTS, RENAMED}),
            emits="configuration",
        ),
        Dialect(
            name=OLD,
            title="Transformers 4.40 to 5.22",
            since="4.40",
            until="5.23",
            evidence=Evidence.DOCUMENTED,
            emits="configuration",
        ),
    ),
    rows=(*_OF_OLD, *ROWS),
    files=files,
)
"""The Trainer by its arguments."""
