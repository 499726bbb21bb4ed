"""Find the emitted lines that carry a field of the recipe.

The search does not use names: the recipe is compiled again with another value in the field, and
the lines that differ carry the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.migrate.alternative_values import other_recipes
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import leaves

_ENOUGH = 4
"""Number of other values to try for a field."""
_SHOWN = 12
"""Maximum number of lines per field: more lines do not help a reader."""
_ABOUT = re.compile(r'\s*(?:from\s|import\s|#|""")')
"""Secondary lines: imports, comments, docstrings."""

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of an emitted file."""

    file: str
    line: int
    text: str


def carriers(recipe: Recipe, target: str) -> dict[str, tuple[Line, ...]]:
    """Return field to the emitted lines that change with the value of the field.

    A field whose value emits nothing, such as `clipping.kind: none`, has none.
    """
    base = _texts(recipe, target)
    found = {path: _lines_of(recipe, target, path, value, base) for path, value in leaves(recipe)}
    return {path: _own(path, lines, found) for path, lines in found.items()}


def _own(path: str, lines: Sequence[Line], found: Mapping[str, Sequence[Line]]) -> tuple[Line, ...]:
    """Return the lines of a field without those that belong more closely to another field.

    For example, the constants of the loss scale do not belong to the precision.
    """
    others = {
        line
        for other, carried in found.items()
        if other != path and len(carried) < len(lines) and len(carried) <= _SHOWN
        for line in carried
    }
    own = [line for line in lines if line not in others] or list(lines)
    # If all its own lines are secondary, the shared lines are more informative.
    telling = _informative(own) or _informative(lines) or own
    return tuple(telling[:_SHOWN])


def _informative(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not _ABOUT.match(line.text)]


def _lines_of(
    recipe: Recipe, target: str, path: str, value: object, base: Texts
) -> tuple[Line, ...]:
    """Return the emitted lines of a field: those that every other value changes.

    If there are none, the smallest set that another value changes. Of a mode it is the first set:
    the first other mode is `none`, and what disappears with it is what the mode emits.
    """
    found: list[tuple[Line, ...]] = []
    for other in other_recipes(recipe, path):
        try:
            touched = tuple(_touched(base, _texts(other, target)))
        except DiagnosticError:
            continue  # a value that the target cannot express
        if touched:
            found.append(touched)
        if len(found) == _ENOUGH or len(touched) == 1:
            break
    smallest = min(found, key=len, default=())
    common = tuple(line for line in smallest if all(line in touched for touched in found))
    return common or (found[0] if found and isinstance(value, str) else smallest)


def _texts(recipe: Recipe, target: str) -> dict[str, list[str]]:
    """Return the lines of every emitted file, without the fingerprint of the recipe."""
    (compiled,) = compile_recipe(recipe, [target])
    digest = recipe_hash(recipe)
    return {
        path: ["" if digest in line else line for line in file.text.split("\n")]
        for path, file in compiled.files.items()
    }


def _touched(base: Texts, other: Texts) -> Iterator[Line]:
    """Yield the lines of the base that are changed or missing in the other text."""
    for path, lines in base.items():
        changed = other.get(path, [])
        if lines == changed:
            continue
        skip = _common_prefix(lines, changed)
        end = _common_prefix(lines[skip:][::-1], changed[skip:][::-1])
        old, new = lines[skip : len(lines) - end], changed[skip : len(changed) - end]
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for kind, start, stop, _, _ in matcher.get_opcodes():
            if kind in ("replace", "delete"):
                numbers = (n for n in range(start, stop) if old[n].strip())
                yield from (Line(path, skip + n + 1, old[n]) for n in numbers)


def _common_prefix(base: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = enumerate(zip(base, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(base), len(other)))
