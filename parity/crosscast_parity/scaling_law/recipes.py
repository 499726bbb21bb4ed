"""The recipe for the runs: small, without dropout, with a short window in every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.recipe.document import CustomModel, DynamicLossScaling, Recipe
from crosscast.recipe.launch import Launch
from crosscast_parity.recipes.derived import CALM_SCALE, changed
from crosscast_parity.scaling_law.exemptions import Exemption, exceptions_of, possible_exceptions
from crosscast_parity.scaling_law.own_model import OwnModel
from crosscast_parity.scaling_law.problems import Problem, refuse
from crosscast_parity.scaling_law.shapes import Shape, shapes_of
from crosscast_parity.scaling_law.shipped_bert import ShippedBert

PROCESSES = 2
MOST_PROCESSES = 4
"""More are not started unless they are asked for: they share one machine."""
MICRO_BATCH = 4
STEPS = 2
WHOLE_WINDOWS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is run, in which shapes, and what was changed for it.

    `problem`: the model and its rows. `recipe`: in the first shape. `train_rows`: rows of an epoch.
    `changes`: in words, with reasons. `exemptions`: where the law does not hold by design; no
    window that is run is such a one.
    """

    problem: Problem
    recipe: Recipe
    shapes: tuple[Shape, ...]
    train_rows: int
    windows: int
    changes: tuple[str, ...]
    exemptions: tuple[Exemption, ...]


def make_subject(
    recipe: Recipe,
    *,
    processes: int | None,
    windows: int,
    stress: bool,
    keep_model: bool,
    folder: Path = Path(),
) -> Subject:
    """Derive what is run from a recipe.

    Args:
        recipe: of the user.
        processes: how many to start; those of the recipe if left out, at least two.
        windows: optimizer steps of a run.
        stress: whether every feature of the recipe is made active in so short a run.
        keep_model: whether the recipe's own model and sequence length are used.
        folder: of the recipe, in which a custom model is found.

    Raises:
        DiagnosticError: CC748 for options that make no sense.
    """
    if processes is not None and processes < 2:
        raise refuse("processes must be at least 2")
    if windows < 4:
        raise refuse("windows must be at least 4")
    problem = _problem(recipe, folder, stress=stress, keep_model=keep_model)
    own = recipe.processes if recipe.processes > 1 else PROCESSES
    count = processes or min(own, MOST_PROCESSES)
    shapes = shapes_of(
        count,
        min(recipe.accumulation.steps, STEPS),
        min(recipe.batch.micro_batch_size, MICRO_BATCH),
    )
    single, simplified = problem.derive(recipe, shapes[0], windows)
    changes = []
    if count != recipe.processes:
        changes.append(f"distributed: {count} processes on one machine, not {recipe.processes}")
    if recipe.launch != Launch():
        changes.append("launch: on one machine, without a scheduler")
    changes += simplified
    if shapes[0].rows != recipe.batch.global_batch_size:
        rows = recipe.batch.global_batch_size
        changes.append(f"batch: {shapes[0].rows} rows per window instead of {rows}, for speed")
    single, more = _calmed(single)
    exemptions = possible_exceptions(single, shapes)
    train_rows = _train_rows(single, shapes)
    changes += [*more, _data_words(problem, shapes, train_rows)]
    return Subject(
        problem=problem,
        recipe=changed(single, shapes[0].changes() | problem.data(single, train_rows)),
        shapes=shapes,
        train_rows=train_rows,
        windows=windows,
        changes=tuple(changes),
        exemptions=exemptions,
    )


def _problem(recipe: Recipe, folder: Path, *, stress: bool, keep_model: bool) -> Problem:
    if isinstance(recipe.model, CustomModel):
        if stress or keep_model:
            option = "--stress" if stress else "--keep-model"
            raise refuse(f"{option} is for the shipped BERT: your model is trained as it is")
        return OwnModel(folder)
    if stress and keep_model:
        raise refuse("--stress is for the small model")
    return ShippedBert(stress, keep_model)


def _calmed(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with a loss scale at which nothing overflows without a fault.

    Shapes overflow at different scales: a larger micro-batch has larger gradients in half.
    """
    scaling = recipe.loss_scaling
    path = "init_scale" if scaling.mode == "dynamic" else "scale"
    first = getattr(scaling, path, 0.0)
    if first <= CALM_SCALE:
        return recipe, ()
    values: dict[str, Any] = {f"loss_scaling.{path}": CALM_SCALE}
    if isinstance(scaling, DynamicLossScaling) and scaling.floor > CALM_SCALE:
        values["loss_scaling.min_scale"] = CALM_SCALE
    words = (
        f"loss_scaling.{path}: {CALM_SCALE:g} instead of {first:g}: shapes overflow by themselves"
        " at different scales"
    )
    return changed(recipe, values), (words,)


def _train_rows(recipe: Recipe, shapes: tuple[Shape, ...]) -> int:
    """Return a number of rows that leaves a short window, unless the law fails in it by design."""
    whole = shapes[0].rows
    short = WHOLE_WINDOWS * whole + whole // 2 + 1
    if exceptions_of(recipe, shapes, short, WHOLE_WINDOWS + 1):
        return (WHOLE_WINDOWS + 1) * whole
    return short


def _data_words(problem: Problem, shapes: tuple[Shape, ...], rows: int) -> str:
    whole = shapes[0].rows
    short = rows % whole
    words = f"a short one of {short} in every epoch" if short else "no short one (see exemptions)"
    return f"data: {rows} {problem.rows}, windows of {whole} and {words}"
