"""Building blocks of the page. They contain final text; the template only prints it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from crosscast_parity.checks.check import Result
from crosscast_parity.report.figures.style import Plot

Tone = Literal["", "good", "bad", "doubt", "soft"]

VERDICT_TONES: dict[str, Tone] = {
    "EQUIVALENT": "good",
    "DIFFERENT": "bad",
    "ERROR": "bad",
    "INCONCLUSIVE": "doubt",
    "NOT TESTED": "soft",
}
RESULT_TONES: dict[Result, Tone] = {
    "pass": "good",
    "fail": "bad",
    "unclear": "doubt",
    "info": "soft",
    "not tested": "soft",
}
RESULT_WORDS: dict[Result, str] = {
    "pass": "passed",
    "fail": "failed",
    "unclear": "unclear",
    "info": "reported",
    "not tested": "not tested",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table. `code`: shown in a typewriter face, may break anywhere."""

    text: str
    tone: Tone = ""
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. `note` explains it. `folded`: initially closed on screen, open in print."""

    kind: ClassVar[str] = "table"
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list of sentences."""

    kind: ClassVar[str] = "items"
    title: str = ""
    items: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a program printed, or a command: shown as it is."""

    kind: ClassVar[str] = "log"
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A finished figure."""

    kind: ClassVar[str] = "figure"
    plot: Plot


Block = Table | Items | Text | Log | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A chapter of the page. `key` is the target of links to it."""

    key: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def cells(*texts: str) -> tuple[Cell, ...]:
    """Return plain cells."""
    return tuple(Cell(text) for text in texts)


def value_text(value: float | None) -> str:
    """Return a statistic or a limit as people read it."""
    if value is None:
        return ""
    return f"{value:.3g}" if math.isfinite(value) else "not finite"


def joined(parts: Iterable[str], *, between: str = ", ") -> str:
    """Return the parts that hold something, joined."""
    return between.join(part for part in parts if part)
