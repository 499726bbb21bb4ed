"""Which comparisons train with dropout: those whose programs can all be given the same masks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from crosscast.recipe.document import Recipe
from crosscast.targets.backend import harness_of
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.runs import Stage, has_dropout
from crosscast_parity.recipes.derived import without_dropout


def with_masks(stages: Sequence[Stage], contestants: Collection[Contestant]) -> list[Stage]:
    """Return the stages; where some program would draw masks of its own, without dropout."""
    if all(map(takes_masks, contestants)):
        return list(stages)
    return [_dry(stage) for stage in stages]


def takes_masks(contestant: Contestant) -> bool:
    """Whether a program can be given masks. Those of older generations of an API were not tried."""
    harness = harness_of(contestant.framework)
    known = bool(contestant.inside) and harness is not None and harness.has("masks")
    if not known or "@" in contestant.target:
        return False
    return has_dropout(contestant.target, contestant.recipe)


def _dry(stage: Stage) -> Stage:
    derive = stage.derive

    def without(recipe: Recipe) -> Recipe:
        return without_dropout(derive(recipe))[0]

    return replace(stage, derive=without)
