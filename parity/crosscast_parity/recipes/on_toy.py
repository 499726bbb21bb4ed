"""Recipes whose emitted scripts train the toy for some hundred windows (`crosscast_parity.toy`).

The schedule ends within the run, with updates after it. In the recipe with active features the
scale also grows every few windows; the recipe's own values are changed in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscast.recipe.document import DynamicLossScaling, Recipe
from crosscast.recipe.optimizer import ParameterGroup
from crosscast_parity.recipes.derived import (
    changed,
    comparable,
    of_bert,
    shortened,
    tiny,
    without_dropout,
)
from crosscast_parity.recipes.stress import stress_recipe

INTERVAL = 5
"""Clean windows before the scale grows at most, where features are active."""
OVERFLOWED = 2 / 5
"""Share of windows in which the schedule of the active recipe does not advance, or a bit more."""
LEFT = 1 / 8
"""Share of the windows after the end of the schedule, at least."""
BETWEEN = 1.25
"""What the highest scale is multiplied by, so that back-offs from it pass by the lowest one."""
PATTERNS = (("*dense.weight", "*kernel"), ("*table.weight", "*embeddings"), ("*bias",))
"""What the groups of a recipe hold on the toy, as any of the frameworks calls it."""


def for_toy(groups: Sequence[ParameterGroup]) -> tuple[ParameterGroup, ...]:
    """Return groups with the same settings that hold parameters of the toy; at most three."""
    pairs = zip(groups, PATTERNS, strict=False)
    return tuple(group.model_copy(update={"parameters": names}) for group, names in pairs)


def own_on_toy(recipe: Recipe, windows: int) -> Recipe:
    """Return the recipe for the toy, of its own values but for the length of the schedule."""
    last = round(windows * (1 - LEFT))
    shortened_recipe = shortened(tiny(_on_one_process(recipe)), last)
    return _grouped(changed(shortened_recipe, {"schedule.total_steps": last}))


def active_on_toy(recipe: Recipe, windows: int) -> Recipe:
    """Return a recipe in which every feature of this one is active again and again."""
    active = stress_recipe(_on_one_process(recipe))[0]
    share = 1 - LEFT - (OVERFLOWED if recipe.scaling_on else 0.0)
    changes: dict[str, Any] = {"schedule.total_steps": round(windows * share)}
    if isinstance(active.loss_scaling, DynamicLossScaling):
        interval = min(active.loss_scaling.growth_interval, INTERVAL)
        changes["loss_scaling.growth_interval"] = interval
        if active.loss_scaling.max_scale is not None:
            changes["loss_scaling.max_scale"] = active.loss_scaling.max_scale * BETWEEN
    return _grouped(changed(active, changes))


def _on_one_process(recipe: Recipe) -> Recipe:
    """Return the recipe for one process; the toy has no dropout."""
    return without_dropout(of_bert(comparable(recipe)[0]))[0]


def _grouped(recipe: Recipe) -> Recipe:
    groups = recipe.optimizer.groups
    return changed(recipe, {"optimizer.groups": for_toy(groups)}) if groups else recipe
