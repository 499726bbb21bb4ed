"""The cases of a file of readings, and writing what is said of them now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.source import Source

from .changes import Hunk, applied
from .said import difference, reading

_CASE = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIATION = re.compile(r"^@@ (.+)\n(?:# .*\n)*((?:(?!@@ ).*\n)*)", re.MULTILINE)
_SAID = re.compile(r"(?:^! .*\n)*\Z", re.MULTILINE)


@dataclass(frozen=True)
class Variation:
    """A change of the files of a case, and what it changes in what is said."""

    title: str
    hunks: tuple[Hunk, ...]
    said: str
    span: tuple[int, int]
    """Where `said` stands in the text of the file, with `! ` before every line."""


@dataclass(frozen=True)
class Case:
    """Some files, and what was said of them."""

    title: str
    sources: tuple[Source, ...]
    said: str
    span: tuple[int, int]
    """Where `said` stands in the text of the file."""
    facts: bool
    """Whether it is also said what lift says."""
    variations: tuple[Variation, ...] = ()

    def said_now(self, variation: Variation | None = None) -> str:
        """Return what is said of the files, or what a variation changes in it."""
        if variation is None:
            return reading(self.sources, facts=self.facts)
        after, lines = applied(variation.hunks, self.sources)
        return difference(self.sources, after, lines, facts=self.facts)


def cases_of(path: Path) -> list[Case]:
    """Return the cases of a file."""
    text = path.read_text(encoding="utf-8")
    starts = [*_CASE.finditer(text)]
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [_case(text, start, end) for start, end in zip(starts, ends, strict=True)]


def _case(text: str, heading: re.Match[str], end: int) -> Case:
    sources: list[Source] = []
    said: re.Match[str] | None = None
    variations: list[Variation] = []
    for block in _BLOCK.finditer(text, heading.end(), end):
        if block[2]:
            sources.append(Source(block[2], block[3]))
        elif block[1] == "diff":
            variations += _variations(text, *block.span(3))
        else:
            assert said is None, f"{heading[1]}: two blocks without a name"
            assert block[1] in ("text", "findings"), block[1]
            said = block
    assert sources, f"{heading[1]}: no files"
    assert said is not None, f"{heading[1]}: no block says what is read"
    facts = said[1] == "text"
    return Case(heading[1], tuple(sources), said[3], said.span(3), facts, tuple(variations))


def _variations(text: str, start: int, end: int) -> Iterator[Variation]:
    for found in _VARIATION.finditer(text, start, end):
        said = _SAID.search(found[2])
        assert said is not None
        change = found[2][: said.start()].removesuffix("\n").split("\n@@\n")
        begin = found.start(2)
        yield Variation(
            found[1],
            tuple(Hunk(tuple(part.split("\n"))) for part in change),
            re.sub(r"^! ", "", said[0], flags=re.MULTILINE),
            (begin + said.start(), begin + said.end()),
        )


def accept(path: Path, title: str, variation: str | None, said: str) -> None:
    """Write what is said of a case, or of a variation of it, into their file."""
    (case,) = (case for case in cases_of(path) if case.title == title)
    span = case.span
    if variation is not None:
        (span,) = (each.span for each in case.variations if each.title == variation)
        said = re.sub(r"^", "! ", said, flags=re.MULTILINE).removesuffix("! ")
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: span[0]] + said + text[span[1] :], encoding="utf-8")
