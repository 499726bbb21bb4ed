"""Rules between the loss, metrics and other fields of a recipe."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.document import BertModel, CrossEntropy, CustomLoss, Loss, Recipe


def computing_losses(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find losses that no framework could compute as the recipe says."""
    yield from _contradictions(recipe)
    yield from _of_bert(recipe)
    yield from _names_of_metrics(recipe)


def _contradictions(recipe: Recipe) -> Iterator[Diagnostic]:
    loss, unit = recipe.loss, recipe.accumulation.normalize_by
    if isinstance(loss, CrossEntropy) and loss.label_smoothing and loss.class_weights:
        yield Diagnostic(
            code="CC214",
            path="loss.class_weights",
            message="with label_smoothing, frameworks weight the classes in different ways",
            hint="remove one of them, or use kind: custom",
        )
    if unit == "token" and not isinstance(loss, CrossEntropy) and not _counts(loss):
        yield Diagnostic(
            code="CC214",
            path="accumulation.normalize_by",
            message=f"normalize_by is token, but {loss.kind} has no labels to count",
            hint="set normalize_by: sample, or, for kind: custom, the array with the labels as "
            "loss.target",
        )
    if unit != "token" and _counts(loss):
        yield Diagnostic(
            code="CC214",
            path="loss.target",
            message="your function takes all arrays; a target is for normalize_by: token",
            hint="remove it",
        )
    if recipe.precision.ops.losses != "float32" and loss != CrossEntropy():
        yield Diagnostic(
            code="CC214",
            path="precision.ops.losses",
            message="only a plain cross-entropy is computed in half precision",
            hint="set precision.ops.losses: float32",
        )


def _counts(loss: Loss) -> bool:
    """Whether a custom loss names the array whose labels are counted."""
    return isinstance(loss, CustomLoss) and loss.target is not None


def _of_bert(recipe: Recipe) -> Iterator[Diagnostic]:
    model, loss = recipe.model, recipe.loss
    if not isinstance(model, BertModel):
        return
    if not isinstance(loss, CrossEntropy):
        yield Diagnostic(
            code="CC210",
            path="loss.kind",
            message="the shipped BERT is a classifier and trained with cross_entropy",
            hint="use a custom model",
        )
    elif loss.target != "labels":
        yield Diagnostic(
            code="CC210",
            path="loss.target",
            message="the labels of the shipped BERT are in the array `labels`",
            hint="remove it",
        )
    elif loss.class_weights and len(loss.class_weights) != model.labels:
        yield Diagnostic(
            code="CC214",
            path="loss.class_weights",
            message=f"{len(loss.class_weights)} weights for {model.labels} classes",
            hint="give every class a weight",
        )


def _names_of_metrics(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find metrics whose names an evaluation reports something else under."""
    for name in recipe.metrics.custom:
        if name in ("loss", "accuracy") or name.startswith("ema_"):
            yield Diagnostic(
                code="CC214",
                path=f"metrics.custom.{name}",
                message=f"an evaluation may report something else as {name}",
                hint="choose a name that is not loss or accuracy and does not start with ema_",
            )
