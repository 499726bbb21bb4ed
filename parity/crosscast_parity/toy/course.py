"""What the toy is given in a stage of the harness: its windows, overflows and their places."""

from __future__ import annotations

import itertools
import math

from crosscast.recipe.document import Recipe
from crosscast_parity.planning.overflows import choose_faults
from crosscast_parity.planning.runs import Stage
from crosscast_parity.recipes.stress_scale import stress_faults
from crosscast_parity.recipes.window_rows import expected_counts
from crosscast_parity.toy.faults import PARAMETERS, Fault, Faults

SURGE = 9
"""Window of the recipe's own values in which gradients overflow by themselves in half precision."""
STRENGTH = 24
LARGEST = 4.0
"""No gradient of the toy is larger, surges apart."""
SAFE = 32768.0
"""Scaled gradients up to here are finite in float16."""


def course_of(recipe: Recipe, stage: Stage) -> Faults:
    """Return the windows of a recipe for the rows of a stage, and their overflows.

    Overflows lie in the windows in which the harness has them in the stage, each in another
    parameter: what looks for them must not pass one over. Gradients are so small that nothing else
    overflows at the first loss scale, but for one window of the recipe's own values.
    """
    rows = recipe.batch.micro_batch_size
    counts = expected_counts(recipe, getattr(recipe.data, "train_rows", 2**31))
    windows = tuple(
        (rows,) * (n_micro - 1) + (total - rows * (n_micro - 1),)
        for n_micro, total in itertools.islice(counts, stage.windows)
    )
    found = stress_faults(recipe, stage.windows) if stage.stress else choose_faults(recipe, None)
    faults = tuple(
        Fault(
            window=fault.window,
            micro_batch=place,
            parameter=PARAMETERS[number % len(PARAMETERS)],
            value=float(fault.kind),
        )
        for number, fault in enumerate(found if recipe.scaling_on else ())
        if fault.window < len(windows)
        and (place := fault.place(len(windows[fault.window]))) is not None
    )
    calm = _calm(recipe)
    surges = dict.fromkeys(range(len(windows)), calm) if calm else {}
    if recipe.scaling_on and not stage.stress and len(windows) > SURGE:
        surges[SURGE] = calm + STRENGTH
    return Faults(recipe.seed, windows, surges, faults)


def _calm(recipe: Recipe) -> int:
    """Return a power of two that keeps gradients finite under the first loss scale."""
    scaling = recipe.loss_scaling
    first = getattr(scaling, "init_scale", getattr(scaling, "scale", 1.0))
    return min(0, math.floor(math.log2(SAFE / (LARGEST * first))))
