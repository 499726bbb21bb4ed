"""Small changes of a program, as in a diff: what changes, and where each line is afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from crosscast.messages.source import Source

Lines = dict[tuple[str, int], int]
"""File and line before a change, to the line after it; lines that go are left out."""


@dataclass(frozen=True)
class Hunk:
    """Lines that follow each other: the first character says whether one stays, comes or goes."""

    lines: tuple[str, ...]

    @property
    def before(self) -> list[str]:
        return [line[1:] for line in self.lines if not line.startswith("+")]


def applied(hunks: Sequence[Hunk], sources: Sequence[Source]) -> tuple[tuple[Source, ...], Lines]:
    """Return the changed sources, and where their lines are.

    Raises:
        ValueError: the lines of a hunk stand nowhere, or in several places.
    """
    places: dict[str, list[tuple[int, Hunk]]] = {}
    for hunk in hunks:
        found = [
            (source.name, start)
            for source in sources
            for start in _starts(hunk.before, source.text.splitlines())
        ]
        if len(found) != 1:
            raise ValueError(f"{len(found)} places for\n" + "\n".join(hunk.lines))
        ((name, start),) = found
        places.setdefault(name, []).append((start, hunk))
    changed: list[Source] = []
    lines: Lines = {}
    for source in sources:
        text, moved = _changed(source.text.splitlines(), places.get(source.name, []))
        changed.append(replace(source, text=text))
        lines |= {(source.name, before): after for before, after in moved.items()}
    return tuple(changed), lines


def _starts(wanted: list[str], lines: list[str]) -> list[int]:
    size = len(wanted)
    return [i for i in range(len(lines) - size + 1) if lines[i : i + size] == wanted]


def _changed(lines: list[str], hunks: list[tuple[int, Hunk]]) -> tuple[str, dict[int, int]]:
    """Return a changed text, and the number of each line after the change by that before it.

    Lines that replace as many others are in their places.
    """
    after: list[str] = []
    moved: dict[int, int] = {}
    at = 0

    def exchange(gone: int, come: list[str]) -> None:
        nonlocal at
        if gone == len(come):
            moved.update({at + i: len(after) + i for i in range(1, gone + 1)})
        after.extend(come)
        at += gone

    for start, hunk in sorted(hunks, key=lambda each: each[0]):
        exchange(start - at, lines[at:start])
        for _, part in groupby(hunk.lines, key=lambda line: line.startswith(("+", "-"))):
            exchanged = [*part]
            gone = sum(not line.startswith("+") for line in exchanged)
            exchange(gone, [line[1:] for line in exchanged if not line.startswith("-")])
    exchange(len(lines) - at, lines[at:])
    return "".join(f"{line}\n" for line in after), moved
