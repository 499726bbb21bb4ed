"""Arguments as the Trainers of Hugging Face and PaddleNLP take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import crosscast_trainers.target.conditions as it
from crosscast.emit.frame import frame_of
from crosscast.emit.render import py_literal
from crosscast.emit.view import header
from crosscast.recipe.document import Adam, AdamW, Recipe
from crosscast.targets.backend import File
from crosscast.targets.parameter_words import in_words
from crosscast_trainers.target.backend import json_file


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLoss:
    """The cross-entropy of `compute_loss`."""

    smoothing: float
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsView:
    """What the template of training_arguments.py sees."""

    header: tuple[str, ...]
    arguments: tuple[str, ...]
    summed: SummedLoss | None
    """A loss that is divided by the number of labels of a window; None for the model's own."""


def batch_and_rate(recipe: Recipe) -> dict[str, Any]:
    """Return the arguments about seed, rows, micro-batches, rate and decay."""
    optimizer = recipe.optimizer
    arguments: dict[str, Any] = {
        "seed": recipe.seed,
        "batch.micro_batch_size": recipe.batch.micro_batch_size,
        "accumulation.steps": recipe.accumulation.steps,
        "optimizer.learning_rate": optimizer.learning_rate,
        "optimizer.weight_decay": optimizer.weight_decay,
    }
    if isinstance(optimizer, Adam | AdamW):
        arguments |= {
            "optimizer.betas.0": optimizer.betas[0],
            "optimizer.betas.1": optimizer.betas[1],
            "optimizer.eps": optimizer.eps,
        }
    return in_words("transformers", arguments)


def schedule_arguments(recipe: Recipe) -> dict[str, Any]:
    """Return length, warm-up and name of the schedule."""
    schedule = recipe.schedule
    name = it.shape(recipe)
    if name == "constant" and schedule.warmup_steps:
        name = "constant_with_warmup"
    values = {
        "schedule.total_steps": schedule.total_steps,
        "schedule.warmup_steps": schedule.warmup_steps,
        "schedule.name": name,
    }
    return in_words("transformers", values)


def arguments_files(
    recipe: Recipe,
    layer: str,
    title: str,
    arguments: Mapping[str, Any],
    *,
    summed: SummedLoss | None = None,
) -> tuple[File, ...]:
    """Return arguments.json, and training_arguments.py with the same as a function.

    Args:
        recipe: what they say.
        layer: folder of the template.
        title: the layer for people.
        arguments: by name, in the order to be printed.
        summed: a loss that comes along.
    """
    view = ArgumentsView(
        header=header(frame_of(recipe), f"arguments of {title}"),
        arguments=tuple(f"{name}={_literal(value)}," for name, value in arguments.items()),
        summed=summed,
    )
    return (
        json_file("arguments.json", arguments),
        File(
            path="training_arguments.py",
            template=f"trainers/{layer}/training_arguments.py.j2",
            view={"view": view},
        ),
    )


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        inner = (f"{py_literal(name)}: {py_literal(item)}" for name, item in value.items())
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(py_literal, value))}]"
    return py_literal(value)
