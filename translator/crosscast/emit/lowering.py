"""Shared parts of lowering: the common view and the printing of a Plan.

Decisions are made here and in the backends' `lower` modules; templates only print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import Any

from crosscast import __version__
from crosscast.emit.frame import Frame
from crosscast.emit.launching import launch_view
from crosscast.emit.render import py_literal, render
from crosscast.plan import predicates
from crosscast.plan.operations import (
    Clip,
    Ema,
    Normalize,
    Op,
    Plan,
    Schedule,
    Step,
    UpdateScale,
)
from crosscast.recipe.document import BertModel, NpzData, SyntheticData

OpValues = Callable[[Op], Mapping[str, Any]]

MARK = "\N{REPLACEMENT CHARACTER} operation "
"""Prefix of the lines around an operation in marked output."""
MARKED: ContextVar[bool] = ContextVar("MARKED", default=False)
"""Whether to mark the lines of every operation, to locate them later."""

MACHINE_RULE = ("growth_factor", "backoff_factor", "growth_interval", "hysteresis")
"""Values used by the emitted LossScale: constants of the script unless overridden."""


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


def shared_view(plan: Plan, frame: Frame, title: str, form: str) -> dict[str, Any]:
    """Return the part of the view that does not depend on the framework."""
    header = (
        f"{frame.name}: {'training step' if form == 'step' else 'training'} for {title}.",
        f"Written by crosscast {__version__} from recipe {frame.fingerprint}.",
        "Edit freely: nothing here imports crosscast.",
    )
    return {
        "header": header,
        "shell_header": header,
        "form": form,
        "versions": None,  # a backend's own, see target.version_view
        # Optional parts of a script, enabled by backends.
        "contextlib": False,
        "fnmatch": False,
        "keeps_averages": False,
        "machine": False,
        "own_norm": False,
        "reseed": "",
        "main_arguments": "SETTINGS, train, argv",
        "checked_half": "",
        "recomputed_dropout": False,
        "name": frame.name,
        "recipe_hash": frame.fingerprint,
        "seed": frame.seed,
        "micro_batch_size": frame.micro_batch_size,
        "global_batch_size": frame.global_batch_size,
        "accumulation_steps": frame.micro_batches,
        "accumulation_code": str(frame.micro_batches),
        "tail": frame.tail,
        "tf32": frame.tf32,
        "launch": launch_view(frame),
        **_step(plan),
        **_scaling(plan),
        **_model(frame),
        **_data(frame),
    }


def _step(plan: Plan) -> dict[str, Any]:
    """Return what every framework prints of the training step, without the loss scale."""
    schedule, unit = plan.get(Schedule), plan.get(Normalize).unit
    processes, average = predicates.processes(plan), plan.find(Ema)
    constant = predicates.constant_rate(plan)
    return {
        "processes": processes,
        "distributed": processes > 1,
        "windows": schedule.total_steps,
        "checkpoint_every": max(1, min(500, schedule.total_steps // 10)),
        "rate": "LEARNING_RATE" if constant else "lr",
        "position": "state.updates" if schedule.tick == "update" else "state.windows",
        "reduction": "mean" if unit == "microbatch" else "sum",
        "tokens": unit == "token",
        "loss_doc": _LOSS_DOCS[unit],
        "ema": average is not None,
        "ema_decay": None if average is None else average.decay,
        "schedule": _schedule(schedule) | {"constant": constant},
        "slot_names": slot_names(plan),
    }


_LOSS_DOCS = {
    "sample": "Summed cross-entropy",
    "microbatch": "Mean cross-entropy",
    "token": "Summed cross-entropy of the labels that are not -100",
}

_REMAINING = {
    "linear": "1.0 - progress",
    "polynomial": "(1.0 - progress) ** POWER",
    "cosine": "0.5 * (1.0 + math.cos(math.pi * progress))",
}


def _schedule(schedule: Schedule) -> dict[str, Any]:
    warm = schedule.warmup_steps > 0 and schedule.decay_from == "warmup_end"
    length = schedule.total_steps - schedule.warmup_steps if warm else schedule.total_steps
    since = "(position - WARMUP_STEPS)" if warm else "position"
    over = "(TOTAL_STEPS - WARMUP_STEPS)" if warm else "TOTAL_STEPS"
    falls = schedule.name in _REMAINING
    return {
        "name": schedule.name,
        "learning_rate": schedule.learning_rate,
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


def slot_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of the optimizer's moments in checkpoints."""
    step = plan.get(Step)
    return () if step.optimizer == "sgd" and not step.momentum else _SLOTS[step.optimizer]


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


def clip_constants(plan: Plan, *, with_eps: bool) -> tuple[str, ...]:
    """Return the constants of clipping and of the divisor of the loss.

    Args:
        plan: The plan.
        with_eps: Whether the code adds an epsilon of its own; that of stock functions may be fixed.
    """
    clip, normalize = plan.get(Clip), plan.get(Normalize)
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    if clip.mode == "none":
        return full
    if clip.mode == "value":
        return (f"MAX_VALUE = {py_literal(clip.limit)}", *full)
    eps = (f"CLIP_EPS = {py_literal(clip.eps)}",) if clip.eps and with_eps else ()
    return (f"MAX_NORM = {py_literal(clip.limit)}", *eps, *full)


def _scaling(plan: Plan) -> dict[str, Any]:
    update = plan.find(UpdateScale)
    return {
        "scaled": predicates.scaled(plan),
        "scaling": _scale(update),
        "dynamic": predicates.dynamic(plan),
        "scaling_optional": False,
        "counts_overflows": _counts_overflows(update),
        "machine_fields": (),
        "machine_rule": {name: name.upper() for name in MACHINE_RULE},
    }


def _counts_overflows(update: UpdateScale | None) -> str:
    """Return how a loss scale counts overflows; empty if it backs off at each of them."""
    if update is None or (update.hysteresis == 1 and update.hysteresis_mode == "consecutive"):
        return ""
    return update.hysteresis_mode


def _scale(update: UpdateScale | None) -> dict[str, Any]:
    if update is None:
        return {"mode": "none"}
    if update.mode == "static":
        return {"mode": "static", "scale": update.init_scale}
    return asdict(update)


def _model(frame: Frame) -> dict[str, Any]:
    model = frame.model
    if isinstance(model, BertModel):
        values = model.model_dump() | {"has_dropout": model.dropout > 0}
        return {"bert": True, "model": values, "has_dropout": model.dropout > 0}
    return {"bert": False, "has_dropout": True}


def factory_import(frame: Frame, backend: str) -> str:
    """Return the statement that imports a factory as `build_model`; empty for the shipped model."""
    if isinstance(frame.model, BertModel):
        return ""
    module, _, function = frame.model.factory[backend].partition(":")
    name = function if function == "build_model" else f"{function} as build_model"
    line = f"from {module} import {name}"
    return line if len(line) <= 88 else f"from {module} import (\n    {name},\n)"


def _data(frame: Frame) -> dict[str, Any]:
    data = frame.data
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
        "data_hint": synthetic_command(frame, data),
        "shuffle": data.shuffle,
    }


def synthetic_command(frame: Frame, data: SyntheticData) -> tuple[str, ...]:
    """Return the command that creates the recipe's synthetic data, as lines."""
    vocab = frame.model.vocab_size if isinstance(frame.model, BertModel) else 0
    return (
        "make it with: crosscast data nli-synthetic -o data",
        f" --train-rows {data.train_rows} --eval-rows {data.eval_rows}",
        f" --sequence-length {data.sequence_length} --vocab-size {vocab} --seed {frame.seed}",
    )
