"""What changes in emitted files between two values of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Texts = Mapping[str, Sequence[str]]
"""The lines of every emitted file."""
Kind = Literal["changed", "gap"]


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of an emitted file."""

    file: str
    line: int
    text: str


def line_changes(base: Texts, other: Texts) -> Iterator[tuple[Kind, Line]]:
    """Yield the lines of the base that the other text changes.

    `changed`: the line is different or missing there. `gap`: the other text has more lines behind
    this one.
    """
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
                yield from (("changed", Line(path, skip + n + 1, old[n])) for n in numbers)
            elif kind == "insert" and (number := _written(lines, skip + start)):
                yield "gap", Line(path, number, lines[number - 1])


def _written(lines: Sequence[str], number: int) -> int:
    """Return the number of the last line up to this one with a text; 0 if there is none."""
    return next((n for n in range(number, 0, -1) if lines[n - 1].strip()), 0)


def _common_prefix(base: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = enumerate(zip(base, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(base), len(other)))
