"""What other values of a field change in the emitted files and in the Plan.

The search does not use names: the recipe is compiled again with another value in the field, and
what differs depends on the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosscast.carriers.text_changes import Line, Texts, line_changes
from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.operations import Op, Plan
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import leaves
from crosscast.variations.alternative_values import other_recipes

_ENOUGH = 4
"""Number of other values to try for a field."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one other value of a field changes."""

    lines: tuple[Line, ...]
    """Emitted lines that are different or missing with the other value."""
    gaps: tuple[Line, ...]
    """Emitted lines behind which the other value emits more."""
    operations: frozenset[str]
    """Kinds of operations of the Plan that differ."""


class OtherRecipes:
    """The recipes with another value in a field; each is made once, for all targets."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._made: dict[str, tuple[list[Recipe], Iterator[Recipe]]] = {}

    def of(self, path: str) -> Iterator[Recipe]:
        """Yield valid recipes with another value in the field."""
        recipes, more = self._made.setdefault(path, ([], other_recipes(self.recipe, path)))
        number = 0
        while True:
            if number == len(recipes):
                recipes.extend(recipe for recipe in [next(more, None)] if recipe is not None)
            if number == len(recipes):
                return
            yield recipes[number]
            number += 1


def effects(others: OtherRecipes, target: str) -> dict[str, list[Effect]]:
    """Return for every field of a recipe what its other values change, if anything.

    Raises:
        DiagnosticError: The target cannot express the recipe itself.
    """
    scripts = _Scripts(target)
    base = scripts.of(others.recipe)
    return {path: list(_effects(others, path, scripts, base)) for path, _ in leaves(others.recipe)}


def _effects(others: OtherRecipes, path: str, scripts: _Scripts, base: _Script) -> Iterator[Effect]:
    enough = _ENOUGH
    for other in others.of(path):
        try:
            script = scripts.of(other)
        except DiagnosticError:
            continue  # a value that the target cannot express
        effect = Effect(*base.changes(script), base.operations(script))
        if effect.lines or effect.gaps or effect.operations:
            yield effect
        enough -= bool(effect.lines)
        if not enough or len(effect.lines) == 1:
            return


@dataclass(frozen=True, slots=True)
class _Script:
    texts: Texts
    plan: Plan

    def changes(self, other: _Script) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        changes = list(line_changes(self.texts, other.texts))
        changed = tuple(line for kind, line in changes if kind == "changed")
        return changed, tuple(line for kind, line in changes if kind == "gap")

    def operations(self, other: _Script) -> frozenset[str]:
        ours, theirs = _by_kind(self.plan), _by_kind(other.plan)
        return frozenset(kind for kind in ours if ours[kind] != theirs.get(kind))


def _by_kind(plan: Plan) -> Mapping[str, Op]:
    return {op.kind: op for op in plan}


class _Scripts:
    """The compiled recipes of one target; fields share some of their other recipes."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._made: dict[str, _Script] = {}

    def of(self, recipe: Recipe) -> _Script:
        """Return a script without the fingerprint of its recipe."""
        key = recipe.model_dump_json()
        if key not in self._made:
            digest = recipe_hash(recipe)
            (compiled,) = compile_recipe(recipe, [self._target])
            texts: dict[str, Sequence[str]] = {
                path: ["" if digest in line else line for line in file.text.split("\n")]
                for path, file in compiled.files.items()
            }
            self._made[key] = _Script(texts, compiled.plan)
        return self._made[key]
