"""Which lines of emitted files carry a field of the recipe.

Nothing is looked up by name: the recipe is compiled again with another value in the field, and the
lines that are no longer the same are those that carried it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.lowering import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.migrate.alternative_values import other_recipes
from crosscast.recipe.document import Recipe
from crosscast.targets.capability import leaves

_ENOUGH = 4
"""Other values that are tried of a field."""
_SHOWN = 12
"""A field that decides about the shape of a script carries more lines than help a reader."""
_ABOUT = re.compile(r'\s*(?:from\s|import\s|#|""")')
"""Lines that follow from others: imports, comments, descriptions."""

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of an emitted file."""

    file: str
    line: int
    text: str


def carriers(recipe: Recipe, target: str) -> dict[str, tuple[Line, ...]]:
    """Return for every field the emitted lines that would be others with another value.

    A field whose value means that nothing is emitted, as `clipping.kind: none`, has none.
    """
    base = _texts(recipe, target)
    found = {path: _lines_of(recipe, target, path, base) for path, _ in leaves(recipe)}
    return {path: _own(path, lines, found) for path, lines in found.items()}


def _own(path: str, lines: Sequence[Line], found: Mapping[str, Sequence[Line]]) -> tuple[Line, ...]:
    """Return the lines of a field without those that say another one more closely.

    What only another precision asks for, as the constants of the loss scale, is not its line.
    """
    others = {
        line
        for other, carried in found.items()
        if other != path and len(carried) < len(lines)
        for line in carried
    }
    own = [line for line in lines if line not in others] or list(lines)
    # Where its own lines only follow from others, those that it shares say more.
    telling = _telling(own) or _telling(lines) or own
    return tuple(telling[:_SHOWN])


def _telling(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not _ABOUT.match(line.text)]


def _lines_of(recipe: Recipe, target: str, path: str, base: Texts) -> tuple[Line, ...]:
    """Return the emitted lines that carry a field: those of the change that touches the fewest."""
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
    return min(found, key=len, default=())


def _texts(recipe: Recipe, target: str) -> dict[str, list[str]]:
    """Return the lines of every emitted file, without the fingerprint of the recipe."""
    (compiled,) = compile_recipe(recipe, [target])
    digest = recipe_hash(recipe)
    return {
        path: ["" if digest in line else line for line in file.text.split("\n")]
        for path, file in compiled.files.items()
    }


def _touched(base: Texts, other: Texts) -> Iterator[Line]:
    """Yield the lines of the base that the other does not have in their places."""
    for path, lines in base.items():
        theirs = other.get(path, [])
        if lines == theirs:
            continue
        skip = _alike(lines, theirs)
        end = _alike(lines[skip:][::-1], theirs[skip:][::-1])
        ours, theirs = lines[skip : len(lines) - end], theirs[skip : len(theirs) - end]
        matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
        for kind, start, stop, _, _ in matcher.get_opcodes():
            if kind in ("replace", "delete"):
                numbers = (n for n in range(start, stop) if ours[n].strip())
                yield from (Line(path, skip + n + 1, ours[n]) for n in numbers)


def _alike(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many lines are the same at the beginning."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
