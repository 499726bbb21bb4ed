"""The places at which texts differ, and which of them a pair of runs has reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Lines that belong together: the first lines of their statements, numbers from 1."""

    file: str
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def line(self) -> int:
        """Where it begins, in the new text if it is there."""
        return (self.after or self.before)[0]


def places_of(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[Place]:
    """Return the places of Python texts, file by file.

    Imports count only where nothing else differs: they say little about what is executed.
    """
    for imports in (False, True):
        places = [
            place for file in after for place in _places(file, before[file], after[file], imports)
        ]
        if places:
            return places
    return []


def _places(file: str, before: bytes, after: bytes, imports: bool) -> Iterator[Place]:
    old, new = before.splitlines(), after.splitlines()
    ours, theirs = _starts(before, imports), _starts(after, imports)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        place = Place(
            file=file,
            before=tuple(sorted({ours[n] for n in range(a + 1, b + 1) if n in ours})),
            after=tuple(sorted({theirs[n] for n in range(c + 1, d + 1) if n in theirs})),
        )
        if place.before or place.after:
            yield place


def _starts(text: bytes, imports: bool) -> dict[int, int]:
    """Return for every line the first line of its statement; bare texts have none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    starts: dict[int, int] = {}
    for node in ast.walk(tree):
        bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if bare or not isinstance(node, ast.stmt):
            continue
        if not imports and isinstance(node, ast.Import | ast.ImportFrom):
            continue
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        starts |= dict.fromkeys(range(node.lineno, max(end, node.lineno) + 1), node.lineno)
    return starts


def lines_to_watch(places: Sequence[Place], *, after: bool) -> dict[str, tuple[int, ...]]:
    """Return the lines of one side, by file."""
    lines: dict[str, tuple[int, ...]] = {}
    for place in places:
        lines[place.file] = (*lines.get(place.file, ()), *(place.after if after else place.before))
    return lines


def unreached(
    places: Sequence[Place],
    before: Mapping[str, Sequence[int]],
    after: Mapping[str, Sequence[int]],
) -> list[Place]:
    """Return the places that no line of was reached, on the side that has lines there."""
    return [
        place
        for place in places
        if not set(place.after or place.before)
        & set((after if place.after else before).get(place.file, ()))
    ]
