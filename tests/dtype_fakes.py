"""Recipes and made-up observations by the types that they compute in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import Recipe
from crosscast.reference.rounding import round_to
from crosscast_parity.recordings.observations import Observation
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
