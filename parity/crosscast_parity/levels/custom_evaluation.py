"""Level L1d for custom models: the evaluation that a run reports, from what its model returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from crosscast.messages.diagnostics import failure
from crosscast.recipe.document import CrossEntropy, CustomLoss, MeanSquaredError, Recipe
from crosscast.reference.data import Array
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.applied import UNIT
from crosscast_parity.levels.evaluation import (
    Expected,
    expected_of_logits,
    expected_of_losses,
    judge_evaluation,
)
from crosscast_parity.recordings.status import Evaluation

Batches = Sequence[np.ndarray]
ROUNDED = 1e-6
"""Relative change of weights that stands for what a float32 model rounds."""
IGNORED = -100


def rounding_of(recipe: Recipe) -> float:
    """Return the relative change of weights that stands for what a run of a recipe rounds."""
    return UNIT.get(recipe.precision.compute_dtype, ROUNDED)


def check_custom_evaluation(
    recipe: Recipe,
    exact: Sequence[np.ndarray],
    rough: Sequence[np.ndarray],
    rows: Mapping[str, np.ndarray],
    reported: Evaluation,
    name: str,
    metrics: Mapping[str, tuple[Batches, Batches]],
) -> Iterator[Check]:
    """Yield the checks of what a run reports.

    Args:
        recipe: Of the run.
        exact: What the model returns for every batch of rows, or the loss where that is custom.
        rough: The same with weights that are changed by `rounding_of` the recipe.
        rows: What was evaluated, with the targets.
        reported: By the run.
        name: What the checks are called.
        metrics: Values of each metric, as `exact` and `rough`.

    Raises:
        DiagnosticError: CC762 for outputs that do not fit the targets.
    """
    with np.errstate(all="ignore"):
        expected = _expected(recipe, exact, rough, rows)
        expected_metrics = {}
        for metric, (values, near) in metrics.items():
            both = (_added(values), _added(near))
            mean = expected_of_losses(*both, _count(recipe, rows))
            expected_metrics[metric] = (mean.loss, mean.loss_limit)
        expected = replace(expected, metrics=expected_metrics)
    yield from judge_evaluation(expected, reported, name)


def _expected(
    recipe: Recipe,
    exact: Sequence[np.ndarray],
    rough: Sequence[np.ndarray],
    rows: Mapping[str, np.ndarray],
) -> Expected:
    loss, n_rows, count = recipe.loss, min(map(len, rows.values())), _count(recipe, rows)
    if isinstance(loss, CustomLoss):
        size = recipe.batch.micro_batch_size
        sizes = [min(size, n_rows - start) for start in range(0, n_rows, size)]
        both = (_summed(exact, sizes), _summed(rough, sizes))
        return expected_of_losses(*both, count)
    outputs, rounded = (np.concatenate(parts).astype(np.float64) for parts in (exact, rough))
    targets = rows[loss.target]
    if isinstance(loss, CrossEntropy):
        logits, near = (array.reshape(-1, array.shape[-1]) for array in (outputs, rounded))
        labels = targets.reshape(-1)
        if len(labels) != len(logits):
            raise _misfit(outputs, targets)
        counted = labels != IGNORED
        labels = labels[counted].astype(np.int64)
        return expected_of_logits(logits[counted], near[counted], labels, loss, count)
    if outputs.size != targets.size:
        raise _misfit(outputs, targets)
    wanted = targets.reshape(n_rows, -1).astype(np.float64)
    formula = _squared if isinstance(loss, MeanSquaredError) else _binary
    losses, near = (
        formula(array.reshape(n_rows, -1), wanted).mean(-1) for array in (outputs, rounded)
    )
    return expected_of_losses(losses, near, count)


def _added(batches: Batches) -> Array:
    """Return the sums of metrics by batch."""
    return np.array([values.astype(np.float64).sum() for values in batches])


def _count(recipe: Recipe, rows: Mapping[str, np.ndarray]) -> int:
    """Return the divisor of the sums: the number of rows or of labels."""
    target = recipe.loss.target
    if recipe.accumulation.normalize_by == "token" and target is not None:
        return max(1, int((rows[target] != IGNORED).sum()))
    return min(map(len, rows.values()))


def _summed(values: Sequence[np.ndarray], sizes: Sequence[int]) -> Array:
    """Return the sums of custom losses by batch; a scalar is the mean of its batch."""
    return np.array(
        [
            value.astype(np.float64).sum() * (1 if value.ndim else size)
            for value, size in zip(values, sizes, strict=True)
        ]
    )


def _squared(predicted: Array, wanted: Array) -> Array:
    losses: Array = (predicted - wanted) ** 2
    return losses


def _binary(logits: Array, wanted: Array) -> Array:
    losses: Array = np.maximum(logits, 0) - logits * wanted + np.log1p(np.exp(-np.abs(logits)))
    return losses


def _misfit(outputs: np.ndarray, targets: np.ndarray) -> Exception:
    shapes = f"{list(outputs.shape)}, the targets are {list(targets.shape)}"
    return failure("CC762", f"the model returns {shapes}")
