"""Warnings about recipes that are valid but probably not intended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fnmatch import fnmatchcase

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, NoLossScaling, Recipe, StaticLossScaling
from crosscast.recipe.suggestions import suggest

MAX_LAYERS = 256  # more layers have too many names to search


def notices(recipe: Recipe) -> list[Diagnostic]:
    """Return warnings about a valid recipe."""
    return [*_groups(recipe), *_scale(recipe), *_sums(recipe)]


def _sums(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find sums that are computed in half. Emitted scripts do so, and lint ignores them there."""
    if recipe.precision.mode == "none":
        return
    for name in ("reductions", "losses"):
        if getattr(recipe.precision.ops, name) == "half":
            yield _warning(
                f"precision.ops.{name}",
                f"{name} are computed in {recipe.precision.compute_dtype}: sums lose digits",
                hint="write float32_stored_half, which computes in float32 and stores half",
                code="CC215",
            )


def _scale(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find loss scales that lose gradients. Emitted scripts use them, and lint ignores them."""
    scaling = recipe.loss_scaling
    if isinstance(scaling, NoLossScaling):
        if recipe.half == "float16":
            yield _warning(
                "loss_scaling.mode",
                "float16 without loss scaling: gradients below 6e-8 are lost",
                "remove loss_scaling to use dynamic scaling, or compute in bfloat16",
                code="CC213",
            )
        return
    if isinstance(scaling, StaticLossScaling):
        path, value = "scale", scaling.scale
    else:
        path, value = "init_scale", scaling.init_scale
    problem = ""
    if value < 1:
        problem = "makes gradients smaller"
    elif math.frexp(value)[0] != 0.5:
        problem = "is not a power of two, so scaling rounds every gradient"
    if problem:
        yield _warning(
            f"loss_scaling.{path}",
            f"{value:g} {problem}",
            "use a power of two, such as 65536",
            code="CC213",
        )


def _groups(recipe: Recipe) -> Iterator[Diagnostic]:
    """Find groups without parameters; only the parameters of the shipped BERT are known."""
    groups, model = recipe.optimizer.groups, recipe.model
    if not groups or not isinstance(model, BertModel) or model.layers > MAX_LAYERS:
        return
    names = list(bert_shapes(model))
    left = set(names)
    for number, group in enumerate(groups):
        for place, pattern in enumerate(group.parameters):
            if not any(fnmatchcase(name, pattern) for name in names):
                near = suggest(pattern.strip("*."), [n for name in names for n in name.split(".")])
                yield _warning(
                    f"optimizer.groups.{number}.parameters.{place}",
                    f"no parameter matches {pattern}",
                    f"did you mean {near}?"
                    if near
                    else "model.safetensors contains the names of the parameters",
                )
        chosen = {n for n in names if any(fnmatchcase(n, p) for p in group.parameters)}
        if chosen and not chosen & left:
            yield _warning(
                f"optimizer.groups.{number}",
                "earlier groups already contain all parameters of this group",
                "the first matching group applies: put more specific groups first",
            )
        left -= chosen


def _warning(path: str, message: str, hint: str, code: str = "CC211") -> Diagnostic:
    return Diagnostic(code=code, severity=Severity.WARNING, path=path, message=message, hint=hint)
