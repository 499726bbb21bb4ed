"""Shared parts of lowering: the common view and the printing of a Plan.

Decisions are made here and in the backends' `lower` modules; templates only print.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from textwrap import indent
from typing import Any

from crosscast import __version__
from crosscast.emit.launching import launch_view
from crosscast.emit.render import py_literal, render
from crosscast.plan.operations import Normalize, Op, Plan
from crosscast.recipe.document import (
    BertModel,
    CustomModel,
    DynamicLossScaling,
    NoClipping,
    NpzData,
    Recipe,
    StaticLossScaling,
    SyntheticData,
    ValueClipping,
)

OpValues = Callable[[Op], Mapping[str, Any]]

MARK = "\N{REPLACEMENT CHARACTER} operation "
"""Prefix of the lines around an operation in marked output."""
MARKED: ContextVar[bool] = ContextVar("MARKED", default=False)
"""Whether to mark the lines of every operation, to locate them later."""

MACHINE_RULE = ("growth_factor", "backoff_factor", "growth_interval", "hysteresis")
"""Values used by the emitted LossScale: constants of the script unless overridden."""


def recipe_hash(recipe: Recipe) -> str:
    """Return a short fingerprint of all recipe fields that affect the training.

    Checkpoints can be resumed if it matches; the launch of the processes and the number of machines
    are not included.
    """
    data = recipe.model_dump(mode="json")
    del data["launch"], data["distributed"]["nodes"]
    data["distributed"]["processes_per_node"] = recipe.processes
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def print_ops(templates: Path, folder: str, ops: Iterable[Op], values: OpValues, by: int) -> str:
    """Print operations in the Plan's order, one template `<folder>/<kind>.j2` each.

    Args:
        templates: The backend's template root.
        folder: Folder of the operation templates below it.
        ops: The operations.
        values: View for the template of an operation.
        by: Indentation in spaces.
    """
    pieces = [(op.kind, render(templates, f"{folder}/{op.kind}.j2", values(op))) for op in ops]
    if MARKED.get():
        pieces = [(kind, f"{MARK}{kind}\n{text}{MARK}\n") for kind, text in pieces]
    return indent("".join(text for _, text in pieces), " " * by).rstrip("\n")


def shared_view(recipe: Recipe, plan: Plan, title: str, form: str) -> dict[str, Any]:
    """Return the part of the view that does not depend on the framework."""
    digest = recipe_hash(recipe)
    header = (
        f"{recipe.name}: {'training step' if form == 'step' else 'training'} for {title}.",
        f"Written by crosscast {__version__} from recipe {digest}.",
        "Edit freely: nothing here imports crosscast.",
    )
    return {
        "header": header,
        "shell_header": header,
        "form": form,
        "versions": None,  # a backend's own, see target.version_view
        # Optional parts of a script, enabled by backends.
        "contextlib": False,
        "flags": "",
        "fnmatch": False,
        "keeps_averages": False,
        "importlib": False,
        "machine": False,
        "meets": False,
        "needs_gpu": False,
        "own_norm": False,
        "random": False,
        "reseed": "",
        "main_arguments": "SETTINGS, train, argv",
        "name": recipe.name,
        "recipe_hash": digest,
        "seed": recipe.seed,
        "micro_batch_size": recipe.batch.micro_batch_size,
        "global_batch_size": recipe.batch.global_batch_size,
        "accumulation_steps": recipe.accumulation.steps,
        "processes": recipe.processes,
        "distributed": recipe.processes > 1,
        "windows": recipe.schedule.total_steps,
        "checkpoint_every": max(1, min(500, recipe.schedule.total_steps // 10)),
        "tail": recipe.accumulation.tail,
        "tf32": recipe.precision.tf32,
        "compute_dtype": recipe.precision.compute_dtype,
        "position": "state.updates" if recipe.schedule.tick == "update" else "state.windows",
        "reduction": "mean" if recipe.accumulation.normalize_by == "microbatch" else "sum",
        "tokens": recipe.accumulation.normalize_by == "token",
        "ema": recipe.ema.decay is not None,
        "ema_decay": recipe.ema.decay,
        "loss_doc": _loss_doc(recipe),
        "schedule": _schedule(recipe),
        "slot_names": slot_names(recipe),
        "mean_squares": tuple(n for n in slot_names(recipe) if n in MEAN_SQUARES),
        "factored": recipe.optimizer.name == "adafactor",
        "launch": launch_view(recipe),
        **_scaling(recipe),
        **_model(recipe),
        **_data(recipe),
    }


def _loss_doc(recipe: Recipe) -> str:
    return {
        "sample": "Summed cross-entropy",
        "microbatch": "Mean cross-entropy",
        "token": "Summed cross-entropy of the labels that are not -100",
    }[recipe.accumulation.normalize_by]


_REMAINING = {
    "linear": "1.0 - progress",
    "polynomial": "(1.0 - progress) ** POWER",
    "cosine": "0.5 * (1.0 + math.cos(math.pi * progress))",
}


def _schedule(recipe: Recipe) -> dict[str, Any]:
    schedule = recipe.schedule
    warm = schedule.warmup_steps > 0 and schedule.decay_from == "warmup_end"
    length = schedule.total_steps - schedule.warmup_steps if warm else schedule.total_steps
    since = "(position - WARMUP_STEPS)" if warm else "position"
    over = "(TOTAL_STEPS - WARMUP_STEPS)" if warm else "TOTAL_STEPS"
    falls = schedule.name in _REMAINING
    return {
        "name": schedule.name,
        "learning_rate": recipe.optimizer.learning_rate,
        "end_lr": schedule.end_lr,
        "power": schedule.power,
        "warmup_steps": schedule.warmup_steps,
        "total_steps": schedule.total_steps,
        "decays": falls,
        "counts_down": (falls and length > 0) or schedule.name == "inverse_sqrt",
        # With a warm-up over the whole length the divisor is 0; the rate is the end rate.
        "progress": f"min(1.0, {since} / {over})" if length > 0 else "1.0",
        "remaining": _REMAINING.get(schedule.name, ""),
        "math": schedule.name in ("cosine", "inverse_sqrt"),
    }


def divisor(op: Normalize, distributed: bool) -> str:
    """Return the divisor of a micro-batch's loss in emitted code.

    `rows` and `n_micro` count over all processes; the factor compensates the mean over processes.
    """
    unit = {"sample": "rows", "microbatch": "n_micro", "token": "max(1, tokens)"}[op.unit]
    count = unit if op.renormalize else "FULL_WINDOW"
    return f"({count} / PROCESSES)" if distributed else count


def slot_names(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of the optimizer's moments in checkpoints."""
    return _SLOTS[recipe.optimizer.name] if getattr(recipe.optimizer, "momentum", 1.0) else ()


MEAN_SQUARES = ("exp_avg_sq", "row_var", "col_var", "variance")
"""Moments that are never negative."""

_SLOTS = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "lamb": ("exp_avg", "exp_avg_sq"),
    "lion": ("exp_avg",),
    "adafactor": ("row_var", "col_var", "variance"),
}


def clip_constants(recipe: Recipe, *, with_eps: bool) -> tuple[str, ...]:
    """Return the constants of the clipping; stock functions may have a fixed epsilon."""
    clipping = recipe.clipping
    if isinstance(clipping, NoClipping):
        return ()
    if isinstance(clipping, ValueClipping):
        return (f"MAX_VALUE = {py_literal(clipping.max_value)}",)
    eps = (f"CLIP_EPS = {py_literal(clipping.eps)}",) if clipping.eps and with_eps else ()
    return (f"MAX_NORM = {py_literal(clipping.max_norm)}", *eps)


def _scaling(recipe: Recipe) -> dict[str, Any]:
    scaling = recipe.loss_scaling
    return {
        "scaled": recipe.scaling_on,
        "scaling": scaling.model_dump(),
        "dynamic": isinstance(scaling, DynamicLossScaling),
        "scaling_optional": False,
        "cumulative": getattr(scaling, "hysteresis_mode", "") == "cumulative",
        "machine_fields": (),
        "machine_rule": {name: name.upper() for name in MACHINE_RULE},
    }


def _model(recipe: Recipe) -> dict[str, Any]:
    model = recipe.model
    if isinstance(model, BertModel):
        values = model.model_dump() | {"has_dropout": model.dropout > 0}
        return {"bert": True, "model": values, "has_dropout": model.dropout > 0}
    return {"bert": False, "has_dropout": True}


def factory_import(recipe: Recipe, backend: str) -> str:
    """Return the statement that imports a custom model's factory as `build_model`."""
    assert isinstance(recipe.model, CustomModel)
    module, _, function = recipe.model.factory[backend].partition(":")
    name = function if function == "build_model" else f"{function} as build_model"
    line = f"from {module} import {name}"
    return line if len(line) <= 88 else f"from {module} import (\n    {name},\n)"


def _data(recipe: Recipe) -> dict[str, Any]:
    data = recipe.data
    if isinstance(data, NpzData):
        return {
            "train_data": data.train,
            "eval_data": data.eval,
            "data_hint": "",
            "shuffle": data.shuffle,
        }
    return {
        "train_data": "data/train.npz",
        "eval_data": "data/eval.npz",
        "data_hint": synthetic_command(recipe, data),
        "shuffle": data.shuffle,
    }


def synthetic_command(recipe: Recipe, data: SyntheticData) -> tuple[str, ...]:
    """Return the command that creates the recipe's synthetic data, as lines."""
    vocab = recipe.model.vocab_size if isinstance(recipe.model, BertModel) else 0
    return (
        "make it with: crosscast data nli-synthetic -o data",
        f" --train-rows {data.train_rows} --eval-rows {data.eval_rows}",
        f" --sequence-length {data.sequence_length} --vocab-size {vocab} --seed {recipe.seed}",
    )
