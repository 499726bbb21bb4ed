"""The user's metrics of two frameworks, computed with the same weights on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from crosscast.recipe.document import Recipe
from crosscast.reference.data import Array
from crosscast_parity.inputs.weights import perturb
from crosscast_parity.levels.evaluation import expected_of_losses
from crosscast_parity.modules.differences import Difference
from crosscast_parity.weights.workers import Processes

ROUNDED = 1e-5
"""Relative change of weights that stands for what two frameworks round."""


def compare_metrics(
    processes: Processes,
    recipe: Recipe,
    frameworks: Sequence[str],
    weights: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[str, list[Difference]]:
    """Return by framework the metrics that differ from those of the first one.

    Means over the rows are compared. They may be off by what they change with slightly other
    weights.

    Args:
        processes: Of the models.
        recipe: With the metrics.
        frameworks: The first one first.
        weights: The same for all, by framework and tensor.

    Raises:
        DiagnosticError: CC761 and CC762 for functions that fail.
    """
    first, differences = frameworks[0], {name: list[Difference]() for name in frameworks}
    batch = recipe.batch.micro_batch_size
    rough = perturb(weights[first], recipe.seed, ROUNDED)
    for metric in recipe.metrics.custom:
        values = {
            name: _flat(processes.evaluate(name, weights[name], batch, metric))
            for name in frameworks
        }
        near = _flat(processes.evaluate(first, rough, batch, metric))
        expected = expected_of_losses(values[first], near, len(near))
        for name in frameworks[1:]:
            mean = float(values[name].sum()) / len(near)
            limit, whole = expected.loss_limit, len(values[name]) == len(near)
            if whole and (
                abs(mean - expected.loss) <= limit
                or np.array_equal(mean, expected.loss, equal_nan=True)
            ):
                continue
            differences[name].append(
                Difference(
                    what="metric",
                    module="",
                    counterpart="",
                    kind=f"metric {metric}",
                    words=f"{first}: {expected.loss:.9g}; {name}: {mean:.9g}",
                )
            )
    return differences


def _flat(batches: Sequence[np.ndarray]) -> Array:
    return np.concatenate([values.reshape(-1).astype(np.float64) for values in batches])
