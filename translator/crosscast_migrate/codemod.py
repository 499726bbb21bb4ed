"""The codemod interface: replace an old API in a program with the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit

if TYPE_CHECKING:
    from crosscast.targets.source_support import Era
    from crosscast_reading.sources.subject import Subject

Scope = Literal["programs", "every file", "connected"]
"""What a codemod is given, one after the other: programs that train, each with its modules; also
files that belong to none; or all files that import each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change. Its edits are applied together or not at all."""

    span: Span
    """Location of the old API."""
    message: str
    """What replaces it, in one sentence, with the names of the source."""
    edits: tuple[Edit, ...]
    note: str = ""
    """Remaining differences for the user, such as a new default or file format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An old API that is left unchanged because a person must decide."""

    span: Span
    message: str
    """What was found and why it cannot be changed with certainty."""
    hint: str
    """What to decide or to write by hand."""


Outcome = Change | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A program before and after a codemod; equal if the codemod must not change it."""

    before: str
    after: str
    refused: str = ""
    """Part of the refusal's message; empty without a refusal."""


def no_files(_: Sequence[Source]) -> Mapping[str, str]:
    """Return no files: migrated programs need nothing beside them."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Codemod:
    """A codemod. Its examples (changed, unchanged, refused) are tested."""

    code: str
    """CM and three digits, the first of which is that of its API."""
    name: str
    """In kebab case: `apex-amp`."""
    api: str
    """The `MigrationApi` of the package that it belongs to."""
    title: str
    """The old and the new API, in one line."""
    hints: tuple[str, ...]
    """A text without any of these words needs no change: a fast pre-filter."""
    examples: tuple[Example, ...]
    run: Callable[[Subject], Iterable[Outcome]]
    """Find everything to change or refuse. A migrated program must yield no changes."""
    scope: Scope = "programs"
    """Which files it is given."""
    beside: Callable[[Sequence[Source]], Mapping[str, str]] = no_files
    """Return path to text of new files that the migrated programs import."""
    names_only: bool = False
    """Whether it changes nothing: it names what a person must look at."""
    era: Era | None = None
    """What it migrates from; the registry fills it, from the package that it stands in."""

    @property
    def is_experimental(self) -> bool:
        """Whether it changes programs only with `--experimental`."""
        return self.era is not None and self.era.is_experimental
