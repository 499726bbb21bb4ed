"""Compile a recipe, read the scripts back, and compare what they say with the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.recipe_diff import Side, differences
from crosscast_reading.readers.emitted.reader import READER

TARGETS = (
    *("torch", "torch@2.1", "torch@1.8", "jax", "tensorflow", "tensorflow@2.10"),
    *("tensorflow@graph-rewrite", "paddle", "paddle@2.6", "paddle@fleet"),
)
"""Every dialect that is a training script."""
EMBEDDED = "precision.ops.embeddings"
SILENT = (
    *("version", "name", "overrides", "model.preset", "schedule.warmup_ratio"),
    *("precision.param_dtype", "precision.policy", "batch.global_batch_size"),
)
"""What no script says, or what is derived."""


def emitted(
    recipe: Recipe, target: str, endings: tuple[str, ...] = (".py",), form: Form = "script"
) -> list[Source] | None:
    """Return the files of a target, Python only by default; None if it cannot say the recipe."""
    try:
        (compiled,) = compile_recipe(recipe, [target], form=form, strict=False)
    except DiagnosticError:
        return None
    return [
        Source(f"{target}/{path}", file.text)
        for path, file in compiled.files.items()
        if path.endswith(endings)
    ]


def read_back(sources: list[Source]) -> dict[str, Any]:
    """Return what the reader of emitted scripts says, by the field of the recipe."""
    from crosscast_reading.pysource.project import read_program

    program, diagnostics = read_program(tuple(sources))
    assert not diagnostics
    values: dict[str, Any] = {}
    for fact in READER.read(program):
        if fact.field.startswith("recipe."):
            value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            values[fact.field.removeprefix("recipe.")] = value
    return values


ONE_ATTENTION = ("tensorflow", "torch@2.1", "torch@1.8", "paddle@2.6", "paddle@fleet")
"""Targets whose scripts are the same for both kinds of attention."""


def in_version_2(values: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Return fields in the words of version 2, those that one script may mean as one of them.

    A kernel of PyTorch and of Paddle that gets half rounds once by itself, so half and
    float32_stored_half are one script there.
    """
    words = {"compute": "half"}
    if not target.startswith("tensorflow"):
        words["float32_stored_half"] = "half"
    ops = {path: v for path, v in values.items() if path.startswith("precision.ops.")}
    known = {path: words.get(v, v) for path, v in ops.items()}
    if ops.get(EMBEDDED) == "float32_stored_half":
        known[EMBEDDED] = ops[EMBEDDED]
    if "precision.ops.pointwise" in known:
        known.setdefault("precision.ops.residual", known["precision.ops.pointwise"])
    found = {path: v for path, v in values.items() if path not in ops} | known
    if values.get("model.kind") == "bert":
        found.setdefault("model.attention", "explicit")
    if target.startswith(ONE_ATTENTION):
        found.pop("model.attention", None)
    return found


def side_of(values: Mapping[str, Any]) -> Side:
    """Return one side of a comparison; what is nothing is left out.

    Mixed precision in which every operation is float32 and no loss is scaled is float32: scripts
    for PyTorch then hold nothing of it.
    """
    types = {v for path, v in values.items() if path.startswith("precision.ops.")}
    if types == {"float32"} and values.get("loss_scaling.mode") == "none":
        left_out = ("precision.ops.", "precision.mode", "precision.compute_dtype")
        values = {path: v for path, v in values.items() if not path.startswith(left_out)}
        values |= {"precision.mode": "none", "precision.compute_dtype": "float32"}
    kept = {path: value for path, value in values.items() if value not in (None, [])}
    return Side(path="", values=kept, places={}, unknown=frozenset())


def in_chains(values: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Return fields with the plainest optimizer that means the same.

    Chains of optax have no names: AdamW without decay is Adam, and LAMB without a trust ratio, too.
    """
    if target != "jax":
        return dict(values)
    path, decay = "optimizer.name", "optimizer.weight_decay"
    groups = [
        k for k, v in values.items() if k.startswith("optimizer.groups.") and "decay" in k and v
    ]
    decays = bool(values.get(decay) or groups)
    found = dict(values)
    custom = values["model.kind"] != "bert" and values["precision.mode"] != "none"
    if custom and values.get("accumulation.dtype", "float32") == "float32":
        found["precision.mode"] = "mixed"  # its model gets half copies in either mode
        found.pop("accumulation.dtype", None)
    if not values.get(decay):
        found.pop("optimizer.no_decay", None)
    adapts = decays or values.get("optimizer.always_adapt")
    if (values[path] == "adamw" and not decays) or (values[path] == "lamb" and not adapts):
        found[path] = "adam"
    if found[path] != "lamb" or not (found.get("optimizer.no_decay") or groups):
        found.pop("optimizer.always_adapt", None)
    if values[path] == "lamb" and found[path] == "adam":
        found["optimizer.eps_placement"] = "after_correction"
    return found


def compared(recipe: Recipe, lifted: Mapping[str, Any], target: str) -> dict[str, tuple[Any, Any]]:
    """Return field to (wanted, read) where the two differ."""
    factory = f"model.factory.{target.partition('@')[0]}"
    return {
        difference.path: (difference.left, difference.right)
        for difference in differences(
            side_of(in_version_2(in_chains(flat(recipe), target), target)),
            side_of(in_version_2(in_chains(lifted, target), target)),
        )
        if difference.path == factory
        or (difference.state == "different" and not difference.path.startswith(SILENT))
    }
