"""What toygrad can express. A field that no row names is unsupported, by itself."""

from __future__ import annotations

from crosscast.messages.codes import Code
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import Condition, Row, Verdict
from crosscast.targets.neutral_rows import neutral_rows

CODES = (
    Code("TOY1", "toygrad computes in float32", "Write precision: {mode: none}."),
    Code("TOY2", "toygrad has one optimizer", "Use adamw, without groups and without no_decay."),
    Code("TOY3", "toygrad clips by the norm of all gradients", "Use clipping.kind global_norm."),
    Code("TOY4", "toygrad has no dropout", "Write dropout: 0.0."),
    Code("TOY5", "toygrad trains in one process", "Use accumulation.steps for large batches."),
    Code("TOY6", "toygrad divides by rows or micro-batches", "Use normalize_by sample."),
    Code("TOY7", "toygrad reads rows in the process that trains", "Write workers: 0."),
)
_PROBE = "package/test_plugin.py::test_what_toygrad_lacks_is_refused"


def _half(recipe: Recipe) -> bool:
    return bool(recipe.half)


def _other_optimizer(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    return optimizer.name != "adamw" or bool(optimizer.groups)


def _other_formula(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    placed = getattr(optimizer, "eps_placement", "after_correction") == "after_correction"
    return not (placed and getattr(optimizer, "bias_correction", True))


def _other_clip(recipe: Recipe) -> bool:
    return recipe.clipping.kind != "global_norm" or bool(recipe.clipping.exempt)


def _drops(recipe: Recipe) -> bool:
    return recipe.model.kind == "bert" and recipe.model.dropout > 0


def _several(recipe: Recipe) -> bool:
    return recipe.processes > 1


def _workers(recipe: Recipe) -> bool:
    return recipe.data.workers > 0


def _labels(recipe: Recipe) -> bool:
    return recipe.accumulation.normalize_by == "token"


def _no(path: str, how: str, code: str, when: Condition) -> Row:
    return Row(path=path, verdict=Verdict.UNSUPPORTED, how=how, code=code, probe=_PROBE, when=when)


ROWS = (
    *neutral_rows("toy"),
    Row(path="seed", how="order of the rows"),
    _no("model.dropout", "there is no dropout", "TOY4", _drops),
    Row(path="model", how="the shipped BERT, layer by layer"),
    _no("data.workers", "there is no loader", "TOY7", _workers),
    Row(path="data", how="read as NumPy arrays"),
    Row(path="batch", how="windows of micro-batches"),
    _no("precision", "there are no half types", "TOY1", _half),
    Row(path="precision", how="float32 throughout"),
    Row(path="loss_scaling", how="float32 needs none"),
    _no("accumulation.normalize_by", "labels are not counted", "TOY6", _labels),
    Row(path="accumulation", how="gradients are added to `grad`"),
    _no("clipping", "one way to clip", "TOY3", _other_clip),
    Row(path="clipping", how="toygrad.clip_grad_norm"),
    _no("optimizer", "one optimizer", "TOY2", _other_optimizer),
    _no("optimizer", "one formula", "TOY2", _other_formula),
    Row(path="optimizer", how="toygrad.AdamW, the neutral formula"),
    Row(path="schedule", how="a formula in the script, set as `rate`"),
    _no("distributed", "there is one process", "TOY5", _several),
    Row(path="distributed", how="one process"),
)
