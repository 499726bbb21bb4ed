"""Functions that are written into a migrated file, with the meaning of the old ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A function of the migrated program. It has the name and arguments of the old one."""

    name: str
    text: str
    """Without an empty line at its end."""
    needs: tuple[str, ...] = ()
    """Names of helpers that it calls."""


def texts_of(names: Iterable[str], helpers: dict[str, Helper]) -> Iterator[str]:
    """Yield the texts of helpers and of what they need, each once, needed ones first."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name not in done:
            done.add(name)
            for needed in helpers[name].needs:
                yield from visit(needed)
            yield helpers[name].text.strip("\n")

    for name in names:
        yield from visit(name)
