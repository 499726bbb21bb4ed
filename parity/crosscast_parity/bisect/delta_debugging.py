"""Delta debugging: find a minimal subset that has the same effect as the whole set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Test = Callable[[tuple[T, ...]], bool]
"""Whether a part does it; a part that cannot be tried does not."""


def minimal(whole: Sequence[T], does: Test[T]) -> tuple[T, ...]:
    """Return a part of `whole` that does it and stops doing it when any one item is left out.

    The algorithm is ddmin: halves first, then their complements, then finer parts. No part is tried
    twice. `whole` must do it.
    """
    known: dict[tuple[T, ...], bool] = {tuple(whole): True}

    def tried(part: Sequence[T]) -> bool:
        key = tuple(part)
        if key not in known:
            known[key] = bool(key) and does(key)
        return known[key]

    current, pieces = list(whole), 2
    while len(current) > 1:
        parts = _split(current, min(pieces, len(current)))
        smaller = next((part for part in parts if tried(part)), None)
        if smaller is not None:
            current, pieces = smaller, 2
            continue
        rests = [[item for item in current if item not in part] for part in parts]
        smaller = next((rest for rest in rests if tried(rest)), None)
        if smaller is not None:
            current, pieces = smaller, max(2, pieces - 1)
        elif pieces >= len(current):
            break
        else:
            pieces = min(len(current), 2 * pieces)
    return tuple(current)


def _split(items: Sequence[T], pieces: int) -> list[list[T]]:
    """Cut into parts whose lengths differ by one at most."""
    cuts = [round(number * len(items) / pieces) for number in range(pieces + 1)]
    return [list(items[a:b]) for a, b in pairwise(cuts) if a < b]
