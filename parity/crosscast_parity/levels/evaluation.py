"""Level L1d: the evaluation that a run reports, computed again from the files that it leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from crosscast.data.npz import Dataset
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, CrossEntropy, OpTypes, Recipe
from crosscast.reference.data import Array
from crosscast_parity.checks.check import Check, number
from crosscast_parity.inputs.weights import Weights
from crosscast_parity.levels.bert import Bert, row_losses
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recipes.derived import bert_of, entropy_of, weights_of
from crosscast_parity.recordings.left_files import AVERAGES, WEIGHTS, read_tensors
from crosscast_parity.recordings.status import Evaluation

# A clean evaluation of BERT took 0.3 of a limit that FLOAT32 alone makes, one of the GPT example in
# float16 0.01.
ROOM = 20.0
"""An evaluation may be so many times the noise away: what rounding moves a row, on average."""
FLOAT32 = 2.0**-22
"""Share of a loss that summing and printing it in float32 may cost."""
NOTHING = Evaluation(loss=None, accuracy=None)
MOST_WORK = 1e11
"""Rows times tokens times weights: a larger evaluation is not computed again."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an evaluation should report, and by how much it may be off.

    `accuracy`: None where the loss has none. `metrics`: of the user, each with its limit.
    """

    loss: float
    loss_limit: float
    accuracy: float | None = None
    accuracy_limit: float = 0.0
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def expected_evaluation(
    recipe: Recipe, weights: Weights, rows: Mapping[str, np.ndarray]
) -> Expected:
    """Evaluate weights on rows in float64, and once more in the recipe's type for the noise.

    Rows of the label -100 do not count. A row whose two best logits are closer than the noise may
    be right or wrong.
    """
    sizes, formula, precision = bert_of(recipe), entropy_of(recipe), recipe.precision
    counted = rows["labels"] != -100
    rows = {name: array[counted] for name, array in rows.items()}
    labels, count = rows["labels"], max(1, int(counted.sum()))
    everywhere = precision.mode == "full" or precision.ops != OpTypes()
    rough = Bert(sizes, weights, precision.compute_dtype, everywhere).logits(rows)
    exact = Bert(sizes, weights).logits(rows)
    return expected_of_logits(exact, rough, labels, formula, count)


def expected_of_logits(
    exact: Array, rough: Array, labels: np.ndarray, formula: CrossEntropy, count: int
) -> Expected:
    """Return the expected report of an evaluation with these logits [rows, classes].

    Args:
        exact: The logits.
        rough: The same, rounded as the run may have rounded them.
        labels: [rows], classes.
        formula: The loss.
        count: What the sums are divided by.
    """
    losses, rough_losses = (row_losses(logits, labels, formula) for logits in (exact, rough))
    best = np.sort(exact, axis=-1)
    close = best[:, -1] - best[:, -2] <= ROOM * np.abs(rough - exact).max(-1)
    return replace(
        expected_of_losses(losses, rough_losses, count),
        accuracy=float((exact.argmax(-1) == labels).sum()) / count,
        accuracy_limit=(float(close.sum()) + 1e-6) / count,
    )


def expected_of_losses(losses: Array, rough: Array, count: int) -> Expected:
    """Return the expected report of losses that are summed and divided by `count`.

    Args:
        losses: Of rows, labels or batches.
        rough: The same, rounded as the run may have rounded them.
        count: What the sum is divided by.
    """
    moved = rough - losses
    # What is rounded moves them all, or each by itself: then less than the sum of what each moves.
    noise = (abs(float(moved.sum())) + float(np.sqrt((moved**2).sum()))) / count
    loss = float(losses.sum()) / count
    return Expected(loss, ROOM * noise + FLOAT32 * max(1.0, abs(loss)))


def check_evaluations(
    recipe: Recipe, folder: Path, rows: Path, reported: Evaluation | None
) -> Iterator[Check]:
    """Yield the checks of what a run reports of its weights, and of their averages.

    Args:
        recipe: of the run.
        folder: of the run.
        rows: file that it evaluated on.
        reported: None if it says nothing.
    """
    if reported is None:
        yield untested("L1d", "evaluation loss", "the run reports none")
        return
    if not isinstance(recipe.model, BertModel):
        return  # see `compare.custom_evaluation`: only its own process can evaluate it
    evaluations = [("evaluation", WEIGHTS, reported)]
    if recipe.ema.decay:
        evaluations.append(("evaluation of averages", AVERAGES, reported.averages or NOTHING))
    for name, _, _ in evaluations:
        for metric in recipe.metrics.custom:
            yield untested("L1d", f"{name} metric {metric}", "the model is the shipped BERT")
    data = Dataset.load(rows).arrays()
    if data["input_ids"].size * weights_of(recipe) > MOST_WORK:
        yield untested("L1d", "evaluation loss", "too many rows for a model of this size")
        return
    for name, file, values in evaluations:
        try:
            weights = read_tensors(folder / file)
        except DiagnosticError as error:
            yield untested("L1d", f"{name} loss", error.diagnostics[0].message)
            continue
        if {n: array.shape for n, array in weights.items()} == bert_shapes(bert_of(recipe)):
            yield from check_evaluation(recipe, weights, data, values, name)
        else:
            yield untested("L1d", f"{name} loss", f"{file} does not hold the weights of the model")


def check_evaluation(
    recipe: Recipe,
    weights: Weights,
    rows: Mapping[str, np.ndarray],
    reported: Evaluation,
    name: str = "evaluation",
) -> Iterator[Check]:
    """Yield the checks of a reported loss and accuracy against those of the weights.

    Args:
        recipe: of the run.
        weights: those that were evaluated, all of the model.
        rows: that they were evaluated on.
        reported: by the run.
        name: what the checks are called.
    """
    with np.errstate(all="ignore"):
        expected = expected_evaluation(recipe, weights, rows)
    yield from judge_evaluation(expected, reported, name)


def judge_evaluation(expected: Expected, reported: Evaluation, name: str) -> Iterator[Check]:
    """Yield the checks of a reported loss, and of accuracy and metrics where they are expected."""
    if not math.isfinite(expected.loss):
        yield untested("L1d", f"{name} loss", "the loss of the weights is not finite")
        return
    for figure, ours, wanted, limit in (
        ("loss", reported.loss, expected.loss, expected.loss_limit),
        ("accuracy", reported.accuracy, expected.accuracy, expected.accuracy_limit),
        *(
            (f"metric {metric}", reported.metrics.get(metric), wanted, limit)
            for metric, (wanted, limit) in expected.metrics.items()
        ),
    ):
        if wanted is None:
            continue
        if not math.isfinite(wanted):  # of a metric: with the loss nothing is tested
            yield untested("L1d", f"{name} {figure}", "it is not finite with these weights")
            continue
        size = math.inf if ours is None else abs(ours - wanted) / limit
        words = f"{number(ours)}, {wanted:.9g} by the file (limit {limit:.2g})"
        yield Check(
            level="L1d",
            name=f"{name} {figure}",
            result="pass" if size <= 1 else "fail",
            wording=words,
            value=size,
            limit=1,
        )
