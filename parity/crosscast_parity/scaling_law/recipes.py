"""The recipe for the runs: small, without dropout, with a short window in every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import DynamicLossScaling, Recipe, SyntheticData
from crosscast.recipe.launch import Launch
from crosscast_parity.recipes.derived import (
    CALM_SCALE,
    TINY_TOKENS,
    bert_of,
    changed,
    comparable,
    is_small,
    shortened,
    tiny_model,
    without_dropout,
)
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.scaling_law.exemptions import Exemption, exceptions_of, possible_exceptions
from crosscast_parity.scaling_law.shapes import Shape, shapes_of

PROCESSES = 2
MOST_PROCESSES = 4
"""More are not started unless they are asked for: they share one machine."""
MICRO_BATCH = 4
STEPS = 2
WHOLE_WINDOWS = 3
EVAL_ROWS = 8
SHORTEST, LABELS = 9, 3
"""Tokens of the shortest synthetic rows, and their classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is run, in which shapes, and what was changed for it.

    `recipe`: in the first shape. `train_rows`: rows of an epoch. `changes`: in words, with reasons.
    `exemptions`: where the law does not hold by design; no window that is run is such a one.
    """

    recipe: Recipe
    shapes: tuple[Shape, ...]
    train_rows: int
    windows: int
    changes: tuple[str, ...]
    exemptions: tuple[Exemption, ...]


def refuse(message: str, hint: str = "") -> DiagnosticError:
    """Return the error for an option that makes no sense."""
    return DiagnosticError(Diagnostic(code="CC748", message=message, hint=hint))


def make_subject(
    recipe: Recipe, *, processes: int | None, windows: int, stress: bool, keep_model: bool
) -> Subject:
    """Derive what is run from a recipe.

    Args:
        recipe: of the user.
        processes: how many to start; those of the recipe if left out, at least two.
        windows: optimizer steps of a run.
        stress: whether every feature of the recipe is made active in so short a run.
        keep_model: whether the recipe's own model and sequence length are used.

    Raises:
        DiagnosticError: CC704 for a custom model, CC748 for options that make no sense.
    """
    if processes is not None and processes < 2:
        raise refuse("processes must be at least 2")
    if windows < 4:
        raise refuse("windows must be at least 4")
    if stress and keep_model:
        raise refuse("--stress is for the small model")
    single, simplified = without_dropout(comparable(recipe)[0])
    if keep_model and bert_of(recipe).labels != LABELS:
        raise refuse(f"--keep-model is for models of {LABELS} labels, which the rows have")
    changes = list(simplified)
    own = recipe.processes if recipe.processes > 1 else PROCESSES
    count = processes or min(own, MOST_PROCESSES)
    if count != recipe.processes:
        changes.append(f"distributed: {count} processes on one machine, not {recipe.processes}")
    if recipe.launch != Launch():
        changes.append("launch: on one machine, without a scheduler")
    if stress:
        single = stress_recipe(single)[0]
        changes.append("magnitudes: as with --stress, so that every feature is active")
    elif not keep_model and not _fits(single):
        single = changed(single, tiny_model(single))
        changes.append("model: 0.14 million weights (BERT tiny), for speed")
    shapes = shapes_of(
        count,
        min(recipe.accumulation.steps, STEPS),
        min(recipe.batch.micro_batch_size, MICRO_BATCH),
    )
    if shapes[0].rows != recipe.batch.global_batch_size:
        rows = recipe.batch.global_batch_size
        changes.append(f"batch: {shapes[0].rows} rows per window instead of {rows}, for speed")
    single, more = _calmed(_squeezed(single, windows, stress))
    exemptions = possible_exceptions(single, shapes)
    train_rows = _train_rows(single, shapes)
    changes += [*more, *_data_words(single, shapes, train_rows)]
    length = (
        single.data.sequence_length if keep_model else min(single.data.sequence_length, TINY_TOKENS)
    )
    values: dict[str, Any] = {
        **shapes[0].changes(),
        "data": SyntheticData(
            source="synthetic",
            sequence_length=max(length, SHORTEST),
            train_rows=train_rows,
            eval_rows=EVAL_ROWS,
            shuffle=single.data.shuffle,
        ).model_dump(),
    }
    return Subject(
        recipe=changed(single, values),
        shapes=shapes,
        train_rows=train_rows,
        windows=windows,
        changes=tuple(changes),
        exemptions=exemptions,
    )


def _fits(recipe: Recipe) -> bool:
    """Whether the model is small, and one for the synthetic rows."""
    model = bert_of(recipe)
    return is_small(recipe) and model.max_positions >= SHORTEST and model.labels == LABELS


def _squeezed(recipe: Recipe, windows: int, stress: bool) -> Recipe:
    return recipe if stress else shortened(recipe, windows)


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


def _data_words(recipe: Recipe, shapes: tuple[Shape, ...], rows: int) -> Mapping[str, None]:
    short = rows % shapes[0].rows
    words = f"data: {rows} synthetic rows, windows of {shapes[0].rows} and "
    words += f"a short one of {short} in every epoch" if short else "no short one (see exemptions)"
    return {words: None}
