"""Find the emitted lines that carry a field of the recipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crosscast.carriers.effects import Effect, OtherRecipes, effects
from crosscast.carriers.text_changes import Line
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import leaves

_SHOWN = 12
"""Maximum number of lines per field in a report: more lines do not help a reader."""
_ABOUT = re.compile(r'\s*(?:from\s|import\s|#|""")')
"""Secondary lines: imports, comments, docstrings."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a field is responsible for in an emitted script."""

    own: tuple[Line, ...]
    """The lines that change with its value, without those that belong more closely to another
    field. A field whose value emits nothing, such as `clipping.kind: none`, has none."""
    also: tuple[Line, ...]
    """Other lines that at least one other value changes."""
    gaps: tuple[Line, ...]
    """Lines behind which another value emits more."""
    operations: frozenset[str]
    """Kinds of the operations of the Plan that change with it."""


def carriers(recipe: Recipe, target: str) -> dict[str, tuple[Line, ...]]:
    """Return field to the few emitted lines that say its value best."""
    by_field = carried_lines(OtherRecipes(recipe), target)
    return {path: carried.own[:_SHOWN] for path, carried in by_field.items()}


def carried_lines(others: OtherRecipes, target: str) -> dict[str, Carried]:
    """Return the emitted lines and operations that every field carries, by path.

    Raises:
        DiagnosticError: The target cannot express the recipe.
    """
    by_field = effects(others, target)
    values = dict(leaves(others.recipe))
    lines = {path: _lines_of(own, values[path]) for path, own in by_field.items()}
    return {path: _carried(path, own, lines) for path, own in by_field.items()}


def _carried(
    path: str, own_effects: Sequence[Effect], lines: Mapping[str, Sequence[Line]]
) -> Carried:
    own = _own(path, lines[path], lines)
    return Carried(
        own=own,
        also=_others((effect.lines for effect in own_effects), own),
        gaps=_others((effect.gaps for effect in own_effects), own),
        operations=_operations([effect.operations for effect in own_effects if effect.operations]),
    )


def _others(places: Iterable[Iterable[Line]], own: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted({line for lines in places for line in lines}.difference(own)))


def _operations(kinds: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the operations that every other value changes, or the fewest that one changes."""
    return frozenset.intersection(*kinds) or min(kinds, key=len) if kinds else frozenset()


def _own(
    path: str, lines: Sequence[Line], fields: Mapping[str, Sequence[Line]]
) -> tuple[Line, ...]:
    """Return the lines of a field without those that belong more closely to another field.

    For example, the constants of the loss scale do not belong to the precision.
    """
    others = {
        line
        for other, carried in fields.items()
        if other != path and len(carried) < len(lines) and len(carried) <= _SHOWN
        for line in carried
    }
    own = [line for line in lines if line not in others] or list(lines)
    # If all its own lines are secondary, the shared lines are more informative.
    return tuple(_informative(own) or _informative(lines) or own)


def _informative(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not _ABOUT.match(line.text)]


def _lines_of(effects: Sequence[Effect], value: object) -> tuple[Line, ...]:
    """Return the emitted lines of a field: those that every other value changes.

    If there are none, the smallest set that another value changes. Of a mode it is the first set:
    the first other mode is `none`, and what disappears with it is what the mode emits.
    """
    changed = [effect.lines for effect in effects if effect.lines]
    smallest = min(changed, key=len, default=())
    common = tuple(line for line in smallest if all(line in lines for lines in changed))
    return common or (changed[0] if changed and isinstance(value, str) else smallest)
