"""The evaluation of custom models that runs report, against losses that are computed here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.custom_evaluation import check_custom_evaluation, rounding_of
from crosscast_parity.recordings.status import Evaluation
from custom_fakes import own_recipe

OUTPUTS = np.array([[0.5, -1.0], [2.0, 0.25], [-0.125, 1.0]], np.float32)


def checked(
    outputs: Sequence[np.ndarray],
    rows: dict[str, np.ndarray],
    mean: float,
    accuracy: float | None = None,
    rough: Sequence[np.ndarray] | None = None,
    metrics: Mapping[str, float] | None = None,
    values: Mapping[str, tuple[Sequence[np.ndarray], Sequence[np.ndarray]]] | None = None,
    **sections: Any,
) -> dict[str, Check]:
    recipe = own_recipe(**sections)
    reported = Evaluation(loss=mean, accuracy=accuracy, metrics=metrics or {})
    found = check_custom_evaluation(
        recipe, outputs, rough or outputs, rows, reported, "evaluation", values or {}
    )
    return {check.name: check for check in found}


def results(found: dict[str, Check]) -> list[str]:
    return [check.result for check in found.values()]


def in_batches() -> list[np.ndarray]:
    return [OUTPUTS[:2], OUTPUTS[2:]]


def test_the_mean_of_squares_over_rows_and_their_elements() -> None:
    targets = np.array([[0, 0], [1, 1], [0, 2]], np.float64)
    loss = float(((OUTPUTS - targets) ** 2).mean())
    assert results(checked(in_batches(), {"y": targets}, loss)) == ["pass"]
    assert results(checked(in_batches(), {"y": targets}, loss * 1.001)) == ["fail"]


def test_a_reported_loss_may_be_off_by_what_rounding_moves() -> None:
    targets = np.zeros((3, 2))
    loss = float((OUTPUTS**2).mean())
    rough = [part * np.float32(1.001) for part in in_batches()]
    found = checked(in_batches(), {"y": targets}, loss * 1.002, rough=rough)
    assert results(found) == ["pass"]
    assert results(checked(in_batches(), {"y": targets}, loss * 1.002)) == ["fail"]


def test_a_metric_is_the_mean_over_all_rows() -> None:
    targets = np.zeros((3, 2))
    loss = float((OUTPUTS**2).mean())
    exact, rough = ([np.array([0.5, scale]), np.array([2.0])] for scale in (1.0, 1.001))
    values = {"mae": (exact, rough)}

    def found(mae: float | None) -> list[str]:
        metrics = {} if mae is None else {"mae": mae}
        return results(checked(in_batches(), {"y": targets}, loss, metrics=metrics, values=values))

    assert found(3.5 / 3) == ["pass", "pass"]
    assert found(3.501 / 3) == ["pass", "pass"]  # what rounding moves
    assert found(3.6 / 3) == ["pass", "fail"]
    assert found(1.25) == ["pass", "fail"]  # the mean of the means of batches
    assert found(None) == ["pass", "fail"]


def test_a_metric_that_is_not_finite_is_not_tested() -> None:
    targets = np.zeros((3, 2))
    loss = float((OUTPUTS**2).mean())
    values = [np.array([0.5, np.nan]), np.array([2.0])]
    found = checked(
        in_batches(), {"y": targets}, loss, metrics={}, values={"mae": (values, values)}
    )
    assert results(found) == ["pass", "not tested"]


def test_binary_cross_entropy_of_logits() -> None:
    targets = np.array([[1, 0], [0.5, 1], [0, 0]])
    chances = 1 / (1 + np.exp(-OUTPUTS.astype(np.float64)))
    losses = -(targets * np.log(chances) + (1 - targets) * np.log(1 - chances))
    found = checked(
        in_batches(),
        {"y": targets},
        float(losses.mean()),
        loss={"kind": "binary_cross_entropy", "target": "y"},
    )
    assert results(found) == ["pass"]


def of_class(logits: Sequence[float], label: int) -> float:
    return math.log(sum(math.exp(x) for x in logits)) - logits[label]


def test_classes_have_an_accuracy() -> None:
    labels = np.array([0, 1, 1])
    rows = [of_class(row.tolist(), label) for row, label in zip(OUTPUTS, labels, strict=True)]
    given: dict[str, Any] = {"loss": {"kind": "cross_entropy", "target": "y"}}
    found = checked(in_batches(), {"y": labels}, sum(rows) / 3, 2 / 3, **given)
    assert {name: c.result for name, c in found.items()} == {
        "evaluation loss": "pass",
        "evaluation accuracy": "pass",
    }
    assert results(checked(in_batches(), {"y": labels}, sum(rows) / 3, 1 / 3, **given)) == [
        "pass",
        "fail",
    ]


def test_labels_that_are_ignored_do_not_count() -> None:
    logits = [np.stack([OUTPUTS, OUTPUTS + np.array([0, 1])])]  # [rows, tokens, classes]
    labels = np.array([[0, -100, 1], [-100, -100, 0]])
    flat = [(logits[0][r, t].tolist(), labels[r, t]) for r in range(2) for t in range(3)]
    losses = [of_class(row, label) for row, label in flat if label >= 0]
    right = [np.argmax(row) == label for row, label in flat if label >= 0]
    found = checked(
        logits,
        {"y": labels},
        sum(losses) / 3,
        sum(right) / 3,
        loss={"kind": "cross_entropy", "target": "y"},
        accumulation={"normalize_by": "token"},
    )
    assert results(found) == ["pass", "pass"]


@pytest.mark.parametrize("normalized", ["sample", "microbatch"])
def test_a_custom_loss_is_one_per_row_or_the_mean_of_its_batch(normalized: str) -> None:
    rows = np.arange(10.0, dtype=np.float32)
    batches = [rows[:8], rows[8:]]
    if normalized == "microbatch":
        batches = [np.array(part.mean()) for part in batches]
    found = checked(
        batches,
        {"x": rows},
        4.5,
        loss={"kind": "custom", "function": {"torch": "own:loss"}},
        accumulation={"normalize_by": normalized},
    )
    assert results(found) == ["pass"]


def test_outputs_that_do_not_fit_the_targets_are_named() -> None:
    with pytest.raises(DiagnosticError) as raised:
        checked(in_batches(), {"y": np.zeros((3, 5))}, 1.0)
    assert raised.value.diagnostics[0].code == "CC762"


def test_half_precision_rounds_more() -> None:
    half = own_recipe(precision={"mode": "mixed", "compute_dtype": "bfloat16"})
    assert rounding_of(own_recipe()) < rounding_of(half) == 2.0**-8
