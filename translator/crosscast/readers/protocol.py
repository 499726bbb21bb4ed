"""What a reader is: it takes a source apart and tells facts, and never runs or imports it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from crosscast.facts.command import Command
from crosscast.facts.fact import Fact
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program
    from crosscast.recipe.document import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in one source."""

    facts: tuple[Fact, ...] = ()
    commands: tuple[Command, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """What could not be understood, and conflicts."""
    recipe: Recipe | None = None
    """The recipe itself, if the source is one."""
    mentions: tuple[str, ...] = ()
    """Paths of other files that the source refers to (configurations), as written."""


class TextReader(Protocol):
    """Reads a text format: shell, JSON, YAML. Entry point group `crosscast.readers`."""

    name: str

    def sniff(self, source: Source) -> bool:
        """Return whether the text is of this format; cheap, and never raises."""
        ...

    def read(self, source: Source) -> Reading:
        """Return what the source says; malformed input is a diagnostic, never an exception."""
        ...


class PythonReader(Protocol):
    """Reads one generation of an API in Python programs. Group `crosscast.python_readers`."""

    name: str
    hints: Sequence[str]
    """Words without one of which in the text the reader finds nothing: a fast pre-filter."""

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts; what is not understood is a fact with a reason."""
        ...
