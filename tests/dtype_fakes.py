"""Recipes and made-up observations by the types that they compute in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import Recipe
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, Operation
from recipe_texts import recipe_of

NONE = "{mode: none}"
HALF = "{mode: mixed, compute_dtype: float16}"
BRAIN = "{mode: mixed, compute_dtype: bfloat16}"
FULL = "{mode: full, compute_dtype: float16}"


def recipe_in(precision: str) -> Recipe:
    scaling = "{mode: dynamic, init_scale: 4096}" if "float16}" in precision else None
    if "bfloat16" in precision or precision == NONE:
        scaling = None
    return recipe_of(precision=precision, loss_scaling=scaling, accumulation="{steps: 3}")


def with_gradients(observation: Observation, dtype: Dtype | None) -> Observation:
    """Round the first gradients to another type; None makes them float32 throughout."""
    rng = np.random.default_rng(0)
    windows = []
    for window in observation.windows:
        noisy = {
            n: a * rng.uniform(0.5, 1.0, a.shape).astype("f4") for n, a in window.first.items()
        }
        first = {n: round_to(a, dtype) if dtype else a for n, a in noisy.items()}
        windows.append(replace(window, first=first))
    return replace(observation, windows=tuple(windows))


def operations(half: str, **types: str) -> Manifest:
    """The manifest of the shipped BERT; `types` are those of the classes, by default float32."""
    of = {"matmul": half, "lookup": "float32", "sums": "float32", "scaled": "float32"} | types
    names = {
        "matmul": (("linear", of["matmul"]), ("matmul", of["matmul"])),
        "pointwise": (
            ("gelu", of.get("pointwise", "float32")),
            ("tanh", of.get("pointwise", "float32")),
            ("add", of["sums"]),
            ("div", of["scaled"]),
        ),
        "reductions": (
            ("softmax", of.get("reductions", "float32")),
            ("layer_norm", of.get("norm", of.get("reductions", "float32"))),
            ("sum", of.get("sum", "float32")),
        ),
        "embeddings": (("embedding", of["lookup"]),),
        "losses": (("cross_entropy", of.get("losses", "float32")),),
    }
    found = {
        kind: tuple(Operation(name=n, inputs=("float32",), output=t, count=20) for n, t in ops)
        for kind, ops in names.items()
    }
    autocast = None if half == "float32" else half
    return Manifest(autocast=autocast, operations=found, evaluation=found)


def by_name(
    recipe: Recipe, observation: Observation, *, emulated: bool = False
) -> Mapping[str, Check]:
    checks = check_dtypes(recipe, observation, emulated=emulated)
    assert {check.level for check in checks} == {"L0d"}
    return {check.name: check for check in checks}
