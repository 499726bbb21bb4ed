"""The recipe section for the loss."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import ArrayName, FactoryName, Fraction, Positive, Section


class CrossEntropy(Section):
    """Cross-entropy of logits [rows, classes] with integer labels [rows], one loss per row; with
    `normalize_by: token` of [rows, tokens, classes] with labels [rows, tokens], one per label that
    is not -100."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    target: ArrayName = "labels"
    """The array that the loss takes; all other arrays go to the model, by argument name."""
    label_smoothing: Fraction = 0.0
    """Each loss is (1 - s) * -log p[label] + s * mean of -log p over the classes."""
    class_weights: tuple[Positive, ...] = ()
    """Factor of the loss of each class; empty for none. A mean over rows or labels counts each of
    them once, whatever its weight."""


class BinaryCrossEntropy(Section):
    """Binary cross-entropy of logits with targets from 0 to 1 of the same shape; the loss of a row
    is the mean over its elements."""

    kind: Literal["binary_cross_entropy"]
    target: ArrayName = "labels"
    """The array that the loss takes; all other arrays go to the model, by argument name."""


class MeanSquaredError(Section):
    """Squared difference of predictions and targets of the same shape; the loss of a row is the
    mean over its elements."""

    kind: Literal["mse"]
    target: ArrayName = "labels"
    """The array that the loss takes; all other arrays go to the model, by argument name."""


class CustomLoss(Section):
    """A custom loss, computed by a function that the emitted script imports."""

    kind: Literal["custom"]
    function: Annotated[dict[str, FactoryName], Field(min_length=1)]
    """Maps backend names to `package.module:function`, at most 200 characters. The function takes
    the model and a dict of tensors by array name; it returns one loss per row. With
    `normalize_by: microbatch` it may return a scalar instead, with `token` one loss per label, 0
    where the label is -100."""
    target: ArrayName | None = None
    """The array whose elements that are not -100 are counted; only with `normalize_by: token`."""


Loss = Annotated[
    CrossEntropy | BinaryCrossEntropy | MeanSquaredError | CustomLoss, Field(discriminator="kind")
]
