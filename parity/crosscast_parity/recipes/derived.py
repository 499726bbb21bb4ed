"""Recipes derived from a recipe for one purpose of a comparison: smaller, in float32, shorter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import (
    BertModel,
    CrossEntropy,
    Launch,
    Recipe,
    SyntheticData,
)
from crosscast.variations.changes import changed as with_values
from crosscast_parity.recipes.window_rows import short_epoch

TINY_LABELS = 3
TINY_MODEL = {
    "preset": None,
    "layers": 2,
    "hidden_size": 64,
    "attention_heads": 2,
    "intermediate_size": 256,
    "vocab_size": 512,
    "max_positions": 32,
    "labels": TINY_LABELS,
    "type_vocab_size": 2,
}
TINY_TOKENS = 24
TINY_MICRO_BATCH = 4
TINY_STEPS = 4
TINY_EVAL_ROWS = 512
SMALL_ENOUGH = 300_000
"""A model of so few weights is not made smaller."""
STRESS_SCALE = 64.0
"""Loss scale of runs from stress weights, whose gradients are large: nothing overflows."""

DROPOUT = 0.5
"""Of runs whose evaluation must be free of it."""
CALM_SCALE = 4096.0
"""Loss scale at which a small model does not overflow by itself."""


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe with other values in some fields, given by dotted paths.

    Raises:
        pydantic.ValidationError: a value is not allowed in its field.
    """
    return Recipe.model_validate(with_values(recipe.model_dump(), changes))


def bert_of(recipe: Recipe) -> BertModel:
    """Return the model section of a recipe for the shipped BERT.

    Raises:
        DiagnosticError: CC704 for a custom model.
    """
    if isinstance(recipe.model, BertModel):
        return recipe.model
    raise DiagnosticError(
        Diagnostic(
            code="CC704",
            path="model.kind",
            message="this is for the shipped BERT only, not for a custom model",
            hint="crosscast parity compares custom models",
        )
    )


def entropy_of(recipe: Recipe) -> CrossEntropy:
    """Return the loss section of a recipe for the shipped BERT, which has no other one."""
    assert isinstance(recipe.loss, CrossEntropy)
    return recipe.loss


def comparable(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe as one process can compare it, and in words what that leaves out."""
    recipe = recipe.without_tracking()
    changes: dict[str, Any] = {}
    left_out = []
    if recipe.launch != Launch():  # nothing of the training: the harness starts its own processes
        changes["launch"] = Launch().model_dump()
    if recipe.processes > 1:
        changes["distributed.strategy"] = "none"
        changes["distributed.nodes"] = changes["distributed.processes_per_node"] = 1
        changes["batch.global_batch_size"] = recipe.batch.global_batch_size // recipe.processes
        left_out.append(f"distributed: one process was run instead of {recipe.processes}")
    return (changed(recipe, changes) if changes else recipe), tuple(left_out)


def without_dropout(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with dropout off, and in words what that leaves out.

    For programs that draw masks of their own. The dropout of a custom model is in its own code.
    """
    rate = getattr(recipe.model, "dropout", 0.0)
    if not rate:
        return recipe, ()
    words = f"model.dropout: {rate:g} was set to 0 (masks differ)"
    return changed(recipe, {"model.dropout": 0.0}), (words,)


def is_small(recipe: Recipe) -> bool:
    """Whether the model need not be made smaller for a quick check."""
    return weights_of(recipe) <= SMALL_ENOUGH


def weights_of(recipe: Recipe) -> int:
    """Return the number of weights of the recipe's model."""
    total = 0
    for shape in bert_shapes(bert_of(recipe)).values():
        size = 1
        for length in shape:
            size *= length
        total += size
    return total


def of_bert(recipe: Recipe) -> Recipe:
    """Return a recipe with the tiny BERT in place of a custom model: the same training step."""
    if isinstance(recipe.model, BertModel):
        return recipe
    changes = {
        "model": {"kind": "bert", **TINY_MODEL, "dropout": 0.0},
        "loss": {"kind": "cross_entropy"},
        "data": {
            "source": "synthetic",
            "sequence_length": TINY_TOKENS,
            "shuffle": recipe.data.shuffle,
        },
    }
    return changed(recipe, changes)


def tiny_model(recipe: Recipe) -> dict[str, Any]:
    """Return the changes that give a recipe for the shipped BERT a tiny one."""
    changes: dict[str, Any] = {f"model.{name}": value for name, value in TINY_MODEL.items()}
    return changes | tiny_loss(recipe)


def tiny_loss(recipe: Recipe) -> dict[str, Any]:
    """Return the change that gives every class of a tiny model a weight, if any has one."""
    weights = entropy_of(recipe).class_weights
    if not weights:
        return {}
    return {"loss.class_weights": tuple(weights[n % len(weights)] for n in range(TINY_LABELS))}


def tiny(recipe: Recipe) -> Recipe:
    """Return the recipe for a model of 0.14 million weights on synthetic rows.

    The rows of an epoch leave a short last window, and the last micro-batch of that is short too.
    """
    small = small_batches(recipe)
    window, micro = small.batch.global_batch_size, small.batch.micro_batch_size
    data = SyntheticData(
        source="synthetic",
        sequence_length=TINY_TOKENS,
        train_rows=short_epoch(window, micro, 31),
        eval_rows=TINY_EVAL_ROWS,
        shuffle=recipe.data.shuffle,
    )
    return changed(small, tiny_model(recipe) | {"data": data.model_dump()})


def small_batches(recipe: Recipe) -> Recipe:
    """Return the recipe with windows of few micro-batches, of few rows each."""
    micro = min(recipe.batch.micro_batch_size, TINY_MICRO_BATCH)
    steps = min(recipe.accumulation.steps, TINY_STEPS)
    changes = {
        "batch.micro_batch_size": micro,
        "batch.global_batch_size": micro * steps,
        "accumulation.steps": steps,
    }
    return changed(recipe, changes)


def with_slower_steps(recipe: Recipe, rows: int) -> Recipe:
    """Return a recipe of smaller windows with rates that are smaller by as much.

    Args:
        recipe: with smaller windows.
        rows: of the windows that its rates are for.
    """
    share = recipe.batch.global_batch_size / rows
    changes: dict[str, Any] = {"optimizer.learning_rate": recipe.optimizer.learning_rate * share}
    for name in ("warmup_start_lr", "end_lr"):
        if rate := getattr(recipe.schedule, name):
            changes[f"schedule.{name}"] = rate * share
    return changed(recipe, changes)


def shortened(recipe: Recipe, windows: int) -> Recipe:
    """Return the recipe with its schedule squeezed into so many windows, if it is longer."""
    total = recipe.schedule.total_steps
    if total <= windows:
        return recipe
    changes: dict[str, Any] = {"schedule.total_steps": windows}
    if recipe.schedule.warmup_steps:
        changes["schedule.warmup_steps"] = max(
            1, round(recipe.schedule.warmup_steps * windows / total)
        )
    return changed(recipe, changes)


def in_float32(recipe: Recipe) -> Recipe:
    """Return the recipe without half precision and loss scaling."""
    precision = {"mode": "none", "compute_dtype": "float32"}
    return changed(
        recipe,
        {
            "precision": precision,
            "loss_scaling": {"mode": "none"},
            "accumulation.dtype": "float32",
        },
    )


def in_dropout(recipe: Recipe) -> Recipe:
    """Return the recipe in float32 with so much dropout that an evaluation with it shows.

    Without activation checkpointing, for which some frameworks then need a device.
    """
    return changed(
        in_float32(recipe), {"model.dropout": DROPOUT, "activation_checkpointing": False}
    )


def at_stress_scale(recipe: Recipe) -> Recipe:
    """Return the recipe with so small a loss scale that stress weights do not overflow."""
    scaling = recipe.loss_scaling
    if scaling.mode == "dynamic":
        bounds: dict[str, Any] = {"init_scale": STRESS_SCALE}
        if scaling.floor > STRESS_SCALE:
            bounds["min_scale"] = STRESS_SCALE
        if scaling.max_scale is not None and scaling.max_scale < STRESS_SCALE:
            bounds["max_scale"] = STRESS_SCALE
        return changed(recipe, {f"loss_scaling.{k}": v for k, v in bounds.items()})
    if scaling.mode == "static":
        return changed(recipe, {"loss_scaling.scale": STRESS_SCALE})
    return recipe


def with_dtype(recipe: Recipe, dtype: str) -> Recipe:
    """Return the recipe in another compute dtype; float16 gets a loss scale if it had none."""
    if dtype == "float32":
        return in_float32(recipe)
    changes: dict[str, Any] = {"precision.compute_dtype": dtype}
    if not is_half(recipe):
        changes["precision.mode"] = "mixed"
    if dtype == "bfloat16":
        changes["loss_scaling"] = {"mode": "none"}
    elif not recipe.scaling_on:
        changes["loss_scaling"] = {"mode": "dynamic", "init_scale": CALM_SCALE}
    return changed(recipe, changes)


def with_seed(recipe: Recipe, seed: int) -> Recipe:
    """Return the recipe with another seed: other weights, another order of the rows."""
    return changed(recipe, {"seed": seed})


def is_half(recipe: Recipe) -> bool:
    """Whether anything is computed in half precision."""
    return recipe.precision.compute_dtype != "float32"
