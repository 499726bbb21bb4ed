"""Rules between fields: combinations that are invalid although each field alone is valid."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.data_rules import reading_rows
from crosscast.recipe.document import (
    BertModel,
    CustomData,
    CustomLoss,
    CustomModel,
    DynamicLossScaling,
    NoClipping,
    OpTypes,
    Precision,
    Recipe,
    Schedule,
    Sgd,
)
from crosscast.recipe.launch_rules import launching
from crosscast.recipe.loss_rules import computing_losses

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
            hint="correct one of them, or remove one to have it derived",
        )


def _distributed(recipe: Recipe) -> Iterator[Diagnostic]:
    if recipe.distributed.strategy == "none" and recipe.processes > 1:
        yield Diagnostic(
            code="CC201",
            path=f"distributed.{'nodes' if recipe.distributed.nodes > 1 else 'processes_per_node'}",
            message=f"strategy is none, but there are {recipe.processes} processes",
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
    if precision.mode != "none" and precision.compute_dtype == "float32":
        yield Diagnostic(
            code="CC202",
            path="precision.compute_dtype",
            message=f"mode is {precision.mode}, but compute_dtype is float32",
            hint="set compute_dtype: float16 or bfloat16, or mode: none",
        )
    if precision.mode == "none" and precision.ops != OpTypes():
        yield Diagnostic(
            code="CC202",
            path="precision.ops",
            message="ops sets dtypes for operations, but mode is none",
            hint="set precision.mode: mixed and a compute_dtype",
        )
    if precision.mode == "none" and precision.policy != Precision().policy:
        yield Diagnostic(
            code="CC202",
            path="precision.policy",
            message=f"policy is {precision.policy}, but mode is none",
            hint="set precision.mode: mixed and a compute_dtype",
        )
    if recipe.scaling_on and precision.compute_dtype != "float16":
        yield Diagnostic(
            code="CC202",
            path="loss_scaling.mode",
            message=(
                f"loss scaling is {recipe.loss_scaling.mode}, but {precision.compute_dtype} "
                "does not need it"
            ),
            hint="remove loss_scaling, or compute in float16",
        )


def _loss_scale(recipe: Recipe) -> Iterator[Diagnostic]:
    scaling = recipe.loss_scaling
    if not isinstance(scaling, DynamicLossScaling):
        return
    upper = float("inf") if scaling.max_scale is None else scaling.max_scale
    if not scaling.floor <= scaling.init_scale <= upper:
        yield Diagnostic(
            code="CC204",
            path="loss_scaling.init_scale",
            message=(
                f"init_scale {scaling.init_scale:g} is outside "
                f"[min_scale {scaling.floor:g}, max_scale {upper:g}]"
            ),
        )


def _accumulation(recipe: Recipe) -> Iterator[Diagnostic]:
    accumulation = recipe.accumulation
    if accumulation.dtype == "compute" and recipe.precision.mode != "full":
        yield Diagnostic(
            code="CC209",
            path="accumulation.dtype",
            message="dtype compute needs half-precision weights, but the weights are float32",
            hint="set precision.mode: full, or accumulation.dtype: float32",
        )
    if accumulation.normalize_by == "token" and accumulation.tail == "flush":
        yield Diagnostic(
            code="CC209",
            path="accumulation.tail",
            message="flush divides by the size of a full window, which is unknown when counting "
            "tokens",
            hint="set tail: flush_renormalized, drop or carry",
        )


def _schedule(recipe: Recipe) -> Iterator[Diagnostic]:
    schedule = recipe.schedule
    yield from _shape(schedule)
    if schedule.warmup_steps > schedule.total_steps:
        yield Diagnostic(
            code="CC203",
            path="schedule.warmup_steps",
            message=f"warmup_steps {schedule.warmup_steps} > total_steps {schedule.total_steps}",
        )
    falls = schedule.name not in ("constant", "inverse_sqrt")
    if schedule.end_lr and not falls:
        yield Diagnostic(
            code="CC203",
            path="schedule.end_lr",
            message=f"end_lr has no effect on the schedule {schedule.name}",
            hint="remove it, or set name: linear, cosine or polynomial",
        )
    if schedule.warmup_start_lr and not schedule.warmup_steps:
        yield Diagnostic(
            code="CC203",
            path="schedule.warmup_start_lr",
            message="warmup_start_lr has no effect without a warm-up",
            hint="remove it, or set warmup_steps to 1 or more",
        )
    highest = recipe.optimizer.learning_rate
    for name, acts in (("end_lr", falls), ("warmup_start_lr", schedule.warmup_steps)):
        if acts and (rate := getattr(schedule, name)) > highest:
            yield Diagnostic(
                code="CC203",
                path=f"schedule.{name}",
                message=f"{name} {rate:g} is above optimizer.learning_rate {highest:g}",
            )


def _shape(schedule: Schedule) -> Iterator[Diagnostic]:
    falls = schedule.name in ("linear", "cosine", "polynomial")
    if schedule.name != "polynomial" and schedule.power != 1.0:
        yield Diagnostic(
            code="CC203",
            path="schedule.power",
            message=f"power has no effect on the schedule {schedule.name}",
            hint="remove it, or set name: polynomial",
        )
    if not falls and schedule.decay_from == "start":
        yield Diagnostic(
            code="CC203",
            path="schedule.decay_from",
            message=f"decay_from has no effect on the schedule {schedule.name}",
            hint="remove it, or set name: linear, cosine or polynomial",
        )
    if schedule.name == "inverse_sqrt" and not schedule.warmup_steps:
        yield Diagnostic(
            code="CC203",
            path="schedule.warmup_steps",
            message="inverse_sqrt needs a warm-up",
            hint="set warmup_steps to 1 or more",
        )


def _own_model(recipe: Recipe) -> Iterator[Diagnostic]:
    if isinstance(recipe.model, BertModel):
        return
    types = recipe.precision.ops
    for name, fixed in (("matmul", "half"), ("losses", "float32")):
        if getattr(types, name) != fixed:
            yield Diagnostic(
                code="CC210",
                path=f"precision.ops.{name}",
                message=f"{name} of a custom model is {fixed}: autocast and the script decide",
                hint="remove it; write other casts into your model",
            )
    if recipe.activation_checkpointing:
        yield Diagnostic(
            code="CC210",
            path="activation_checkpointing",
            message="checkpointing applies only to the shipped BERT, not to a custom model",
            hint="implement checkpointing in your model",
        )


def _model(recipe: Recipe) -> Iterator[Diagnostic]:
    model = recipe.model
    if isinstance(model, BertModel) and model.hidden_size % model.attention_heads:
        yield Diagnostic(
            code="CC205",
            path="model.hidden_size",
            message=(
                f"hidden_size {model.hidden_size} is not a multiple of "
                f"attention_heads {model.attention_heads}"
            ),
        )


_SCRIPT_MODULES = ("train", "runtime")
"""Modules beside the program that imports a function."""


def _functions(recipe: Recipe) -> Iterator[Diagnostic]:
    named: dict[str, str] = {}
    if isinstance(recipe.model, CustomModel):
        named |= {f"model.factory.{each}": f for each, f in recipe.model.factory.items()}
    if isinstance(recipe.data, CustomData):
        named |= {"data.train": recipe.data.train, "data.eval": recipe.data.eval}
    if isinstance(recipe.loss, CustomLoss):
        named |= {f"loss.function.{each}": f for each, f in recipe.loss.function.items()}
    for metric, functions in recipe.metrics.custom.items():
        named |= {f"metrics.custom.{metric}.{each}": f for each, f in functions.items()}
    for path, name in named.items():
        yield from _function(path, name)


def _function(path: str, name: str) -> Iterator[Diagnostic]:
    words = [part for part in re.split(r"[.:]", name) if keyword.iskeyword(part)]
    if words:
        yield Diagnostic(
            code="CC104",
            path=path,
            message=f"{words[0]!r} is a Python keyword and cannot be used as a name",
        )
    module = re.split(r"[.:]", name)[0]
    if module in _SCRIPT_MODULES:
        yield Diagnostic(
            code="CC104",
            path=path,
            message=f"an emitted script has a module {module!r} itself, which hides yours",
            hint="import the function in a module of another name, and name that one",
        )


def _optimizer(recipe: Recipe) -> Iterator[Diagnostic]:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Sgd) and optimizer.nesterov and not optimizer.momentum:
        yield Diagnostic(
            code="CC207",
            path="optimizer.nesterov",
            message="nesterov needs a momentum above 0",
        )
    if isinstance(optimizer, Sgd) and optimizer.rate_in_momentum and not optimizer.momentum:
        yield Diagnostic(
            code="CC207",
            path="optimizer.rate_in_momentum",
            message="rate_in_momentum needs a momentum above 0",
        )


def _roles(recipe: Recipe) -> Iterator[Diagnostic]:
    named = {"optimizer.no_decay": recipe.optimizer.no_decay}
    if not isinstance(recipe.clipping, NoClipping):
        named["clipping.exempt"] = recipe.clipping.exempt
    for path, roles in named.items():
        if len(set(roles)) != len(roles):
            yield Diagnostic(code="CC207", path=path, message="a role is listed more than once")


_RULES: tuple[Rule, ...] = (
    _batch,
    _distributed,
    _precision,
    _loss_scale,
    _accumulation,
    _schedule,
    _own_model,
    _model,
    reading_rows,
    computing_losses,
    _functions,
    _optimizer,
    _roles,
    launching,
)
