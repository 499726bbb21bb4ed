"""Fields in which two recipes differ but that no run could show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crosscast.recipe.document import Recipe
from crosscast.variations.table import shown_path
from crosscast_parity.bisect.recipes import differences
from crosscast_parity.checks.check import Check
from crosscast_parity.runs.outcomes import StageResult


def hidden_differences(
    ours: Recipe, theirs: Recipe, recipes: Sequence[tuple[Recipe, Recipe]]
) -> tuple[Check, ...]:
    """Return an unclear check if the recipes of the stages no longer differ where the two do.

    Args:
        ours: recipe of a program.
        theirs: recipe of the reference.
        recipes: of every stage, what was made of both: in one process, smaller, shorter.
    """
    shown = {difference.path for pair in recipes for difference in differences(*pair)}
    hidden = [
        difference.path
        for difference in differences(ours, theirs)
        if not _is_observable(difference.path, shown)
    ]
    if not hidden:
        return ()
    fields = ", ".join(map(shown_path, hidden))
    words = f"the recipes differ in {fields}, which no run of this check keeps"
    return (Check(level="L0b", name="recipes", result="unclear", wording=words),)


def _is_observable(path: str, shown: set[str]) -> bool:
    """A section that was another kind may differ in single fields of a stage, and vice versa."""
    return any(
        name == path or name.startswith(f"{path}.") or path.startswith(f"{name}.") for name in shown
    )


def hidden_in(
    results: Sequence[StageResult], recipes: Mapping[str, Recipe], name: str, reference: str
) -> tuple[Check, ...]:
    """Return the check of `hidden_differences` for a pair of programs."""
    if recipes[name] == recipes[reference]:
        return ()
    stages = [(result.recipes[name], result.recipes[reference]) for result in results]
    return hidden_differences(recipes[name], recipes[reference], stages)
