"""Rules between fields: what a recipe may not say although each field alone is fine."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator

from crosscast.diagnostics import Diagnostic
from crosscast.recipe import (
    Adam,
    AdamW,
    BertModel,
    CustomModel,
    DynamicLossScaling,
    Recipe,
    Sgd,
)

Rule = Callable[[Recipe], Iterator[Diagnostic]]


def check(recipe: Recipe) -> list[Diagnostic]:
    """Return every contradiction found in the recipe."""
    return [diagnostic for rule in _RULES for diagnostic in rule(recipe)]


def _batch(recipe: Recipe) -> Iterator[Diagnostic]:
    micro, steps = recipe.batch.micro_batch_size, recipe.accumulation.steps
    product = micro * steps * recipe.processes
    if product != recipe.batch.global_batch_size:
        yield Diagnostic(
            code="CC201",
            path="batch.global_batch_size",
            message=(
                f"global_batch_size is {recipe.batch.global_batch_size}, but micro_batch_size "
                f"{micro} x accumulation.steps {steps} x processes {recipe.processes} = {product}"
            ),
            hint="correct one of them, or leave one out to have it derived",
        )


def _distributed(recipe: Recipe) -> Iterator[Diagnostic]:
    if recipe.distributed.strategy == "none" and recipe.processes > 1:
        yield Diagnostic(
            code="CC201",
            path="distributed.processes_per_node",
            message=f"{recipe.processes} processes, but strategy is none",
            hint="set distributed.strategy: data_parallel",
        )


def _precision(recipe: Recipe) -> Iterator[Diagnostic]:
    precision = recipe.precision
    if precision.mode == "none" and precision.compute_dtype != "float32":
        yield Diagnostic(
            code="CC202",
            path="precision.compute_dtype",
            message=f"compute_dtype is {precision.compute_dtype}, but mode is none",
            hint="set precision.mode: mixed",
        )
    if precision.mode == "mixed" and precision.compute_dtype == "float32":
        yield Diagnostic(
            code="CC202",
            path="precision.compute_dtype",
            message="mode is mixed, but compute_dtype is float32",
            hint="set compute_dtype: float16 or bfloat16, or mode: none",
        )
    if recipe.scaling_on and precision.compute_dtype != "float16":
        yield Diagnostic(
            code="CC202",
            path="loss_scaling.mode",
            message=(
                f"loss scaling is {recipe.loss_scaling.mode}, but {precision.compute_dtype} "
                "has a wide exponent range and needs none"
            ),
            hint="remove loss_scaling, or compute in float16",
        )


def _loss_scale(recipe: Recipe) -> Iterator[Diagnostic]:
    scaling = recipe.loss_scaling
    if not isinstance(scaling, DynamicLossScaling):
        return
    upper = float("inf") if scaling.max_scale is None else scaling.max_scale
    if not scaling.min_scale <= scaling.init_scale <= upper:
        yield Diagnostic(
            code="CC204",
            path="loss_scaling.init_scale",
            message=(
                f"init_scale {scaling.init_scale:g} is outside "
                f"[min_scale {scaling.min_scale:g}, max_scale {upper:g}]"
            ),
        )


def _schedule(recipe: Recipe) -> Iterator[Diagnostic]:
    schedule = recipe.schedule
    if schedule.warmup_steps > schedule.total_steps:
        yield Diagnostic(
            code="CC203",
            path="schedule.warmup_steps",
            message=f"warmup_steps {schedule.warmup_steps} > total_steps {schedule.total_steps}",
        )
    if schedule.name == "constant" and schedule.end_lr:
        yield Diagnostic(
            code="CC203",
            path="schedule.end_lr",
            message="end_lr has no meaning in a constant schedule",
            hint="remove it, or choose name: linear or cosine",
        )
    elif schedule.end_lr > recipe.optimizer.learning_rate:
        yield Diagnostic(
            code="CC203",
            path="schedule.end_lr",
            message=(
                f"end_lr {schedule.end_lr:g} is above "
                f"optimizer.learning_rate {recipe.optimizer.learning_rate:g}"
            ),
        )


def _model(recipe: Recipe) -> Iterator[Diagnostic]:
    model = recipe.model
    if not isinstance(model, BertModel):
        if recipe.data.source == "synthetic":
            yield Diagnostic(
                code="CC206",
                path="data.source",
                message="synthetic data is made for the shipped BERT, not for a custom model",
                hint="set data.source: npz",
            )
        return
    if model.hidden_size % model.attention_heads:
        yield Diagnostic(
            code="CC205",
            path="model.hidden_size",
            message=(
                f"hidden_size {model.hidden_size} is not a multiple of "
                f"attention_heads {model.attention_heads}"
            ),
        )
    if recipe.data.sequence_length > model.max_positions:
        yield Diagnostic(
            code="CC206",
            path="data.sequence_length",
            message=(
                f"sequence_length {recipe.data.sequence_length} is longer than "
                f"model.max_positions {model.max_positions}"
            ),
        )
    if recipe.data.source == "synthetic" and model.type_vocab_size < 2:
        yield Diagnostic(
            code="CC206",
            path="model.type_vocab_size",
            message="the synthetic data has 2 segments, the model 1",
            hint="set model.type_vocab_size: 2",
        )
    if recipe.data.source == "synthetic" and model.labels != 3:
        yield Diagnostic(
            code="CC206",
            path="model.labels",
            message=f"the synthetic data has 3 labels, the model {model.labels}",
            hint="set model.labels: 3",
        )


def _factory(recipe: Recipe) -> Iterator[Diagnostic]:
    if isinstance(recipe.model, CustomModel):
        for backend, name in recipe.model.factory.items():
            words = [part for part in re.split(r"[.:]", name) if keyword.iskeyword(part)]
            if words:
                yield Diagnostic(
                    code="CC104",
                    path=f"model.factory.{backend}",
                    message=f"{words[0]!r} is a word of Python and cannot name anything",
                )


def _optimizer(recipe: Recipe) -> Iterator[Diagnostic]:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd) and optimizer.nesterov and not optimizer.momentum:
        yield Diagnostic(
            code="CC207",
            path="optimizer.nesterov",
            message="nesterov needs a momentum above 0",
        )
    if len(set(optimizer.no_decay)) != len(optimizer.no_decay):
        yield Diagnostic(
            code="CC207", path="optimizer.no_decay", message="a role is named more than once"
        )
    if isinstance(optimizer, Adam | AdamW) and not all(optimizer.betas):
        yield Diagnostic(
            code="CC207", path="optimizer.betas", message="betas must be above 0 and below 1"
        )


_RULES: tuple[Rule, ...] = (
    _batch,
    _distributed,
    _precision,
    _loss_scale,
    _schedule,
    _model,
    _factory,
    _optimizer,
)
