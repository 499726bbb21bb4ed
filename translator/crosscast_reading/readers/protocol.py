"""Reader protocols: a reader extracts facts from a source and never runs or imports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Diagnostic
    from crosscast.messages.source import Source
    from crosscast.recipe.document import Recipe
    from crosscast_reading.facts.command import Command
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in one source."""

    facts: tuple[Fact, ...] = ()
    commands: tuple[Command, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Input that was not understood, and conflicts."""
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
        """Return the facts of the source; malformed input is a diagnostic, never an exception."""
        ...


@runtime_checkable
class ComposingReader(TextReader, Protocol):
    """Reads a text format whose files can inherit from others."""

    def read_over(self, source: Source, files: Mapping[PurePath, Source]) -> Reading:
        """Return the facts of a source put over those of the given files that it inherits from."""
        ...


class PythonReader(Protocol):
    """Reads one generation of an API in Python. Entry point group `crosscast.python_readers`."""

    name: str
    hints: Sequence[str]
    """Fast pre-filter: without one of these words in the text, the reader finds nothing."""

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts; an expression that is not understood gives a fact with a reason."""
        ...
