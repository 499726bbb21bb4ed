"""Metrics of two frameworks with the same weights, in processes that exist in words only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crosscast_parity.modules.metrics import compare_metrics
from custom_fakes import own_recipe

WEIGHTS = {"kernel": np.array([1.0, 2.0, 3.0], np.float32)}
BOTH = {"torch": WEIGHTS, "paddle": WEIGHTS}
FUNCTIONS = {"torch": "own:metric", "paddle": "own:metric"}


class Answers:
    """Values of a metric: the kernel times the factor of a framework, in two batches."""

    def __init__(self, **factors: Any) -> None:
        self._factors = factors

    def evaluate(
        self, framework: str, weights: dict[str, np.ndarray], batch: int, metric: str
    ) -> list[np.ndarray]:
        assert (batch, metric) == (8, "mae")
        values = weights["kernel"] * self._factors[framework]
        return [values[:2], values[2:]]


def words(**factors: Any) -> list[str]:
    recipe = own_recipe(metrics={"custom": {"mae": FUNCTIONS}})
    answers: Any = Answers(**factors)
    found = compare_metrics(answers, recipe, ["torch", "paddle"], BOTH)
    assert found["torch"] == []
    assert all(
        (d.what, d.kind, d.certain) == ("metric", "metric mae", True) for d in found["paddle"]
    )
    return [difference.words for difference in found["paddle"]]


@pytest.mark.parametrize("factor", [1.0, 1.0 + 1e-6])
def test_what_rounding_moves_is_no_difference(factor: float) -> None:
    assert words(torch=1.0, paddle=np.float32(factor)) == []


def test_what_is_not_a_number_anywhere_is_no_difference() -> None:
    assert words(torch=np.nan, paddle=np.nan) == []


@pytest.mark.parametrize("factor", [1.001, 0.0, np.nan])
def test_another_mean_is_one(factor: float) -> None:
    (found,) = words(torch=1.0, paddle=np.float32(factor))
    assert found.startswith("torch: 2; paddle: ")


def test_another_number_of_values_is_one() -> None:
    (found,) = words(torch=1.0, paddle=np.ones((2, 1)))
    assert "paddle: " in found
