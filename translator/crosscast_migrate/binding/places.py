"""Places of programs that a release of a library refuses, as results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crosscast.messages.diagnostics import Diagnostic, Severity, failure
from crosscast.messages.source import Source
from crosscast.targets.source_support import migration_apis
from crosscast_migrate.binding.binder import Bound, Unbound, bind
from crosscast_migrate.binding.index import Index
from crosscast_migrate.in_place import InPlaceMigration
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.grouping import group
from crosscast_reading.sources.subject_builder import subject_of

MISSING, REFUSED = "CC982", "CC983"


@dataclass(frozen=True, slots=True)
class BoundSources:
    """What binding some sources came to."""

    places: tuple[Result, ...]
    """What the release refuses, in the order of the files."""
    problems: tuple[Diagnostic, ...]
    """What could not be read."""
    words: str
    """How much was bound, and to what."""


@dataclass(frozen=True, slots=True)
class BoundMigration:
    """A migration with what the release refuses among its refusals; `words` as of the sources."""

    migrated: InPlaceMigration
    words: str


def index_of(api: str) -> Index:
    """Return the index of the releases that an API belongs to.

    Raises:
        DiagnosticError: CC970, none is known.
    """
    known = migration_apis()[api]
    if known.public_names:
        return Index.load(known.public_names)
    raise failure("CC970", f"no index of names is known for {api}", "leave out --check-only")


def bind_sources(sources: Sequence[Source], api: str) -> BoundSources:
    """Bind all programs among some sources, and modules that no program has.

    Raises:
        DiagnosticError: CC970, no index is known for the API.
    """
    index, total = index_of(api), Bound()
    problems: dict[Diagnostic, None] = {}
    unbound: dict[Unbound, None] = {}
    for members in _programs_and_rest(sources):
        subject, failures = subject_of(members)
        problems |= dict.fromkeys(failures)
        if subject.program is None:
            continue
        bound = bind(subject.program, index)
        unbound |= dict.fromkeys(bound.unbound)
        total.bound += bound.bound
        total.unknown += bound.unknown
        total.guarded += bound.guarded
    total.unbound = list(unbound)
    releases = ", ".join(map(index.title, sorted(index.packages)))
    return BoundSources(
        places=tuple(map(_result, total.unbound)),
        problems=tuple(problems),
        words=f"{total.words} ({releases})",
    )


def with_unbound(migrated: InPlaceMigration, sources: Sequence[Source], api: str) -> BoundMigration:
    """Bind sources as a migration leaves them; what the release refuses is left to a person.

    A line that the migration itself has left is named once. Without an index nothing is bound.
    """
    if not migration_apis()[api].public_names:
        return BoundMigration(migrated, "")
    after = [
        replace(source, text=migrated.texts.get(source.name, source.text)) for source in sources
    ]
    added = [Source(name, text) for name, text in migrated.added.items()]
    bound = bind_sources([*after, *added], api)
    refusals = with_more(migrated.refusals, bound.places)
    return BoundMigration(replace(migrated, refusals=refusals), bound.words)


def with_more(said: Sequence[Result], places: Sequence[Result]) -> tuple[Result, ...]:
    """Return places with more of them, without those of lines of which something is said."""
    lines = {(place.file, place.span.line) for place in said if place.span}
    more = [p for p in places if p.span is not None and (p.file, p.span.line) not in lines]
    return (*said, *more)


def _programs_and_rest(sources: Sequence[Source]) -> Iterator[Sequence[Source]]:
    programs = group(sources)
    yield from programs
    covered = {source.name for members in programs for source in members}
    for source in sources:
        if source.name not in covered and kind_of(source) == "python":
            yield (source,)


def _result(unbound: Unbound) -> Result:
    past = unbound.past
    existing = " and ".join(unbound.existing)
    if unbound.is_call:
        hint = f"it takes {unbound.accepted}" if unbound.accepted else "it takes no arguments"
    elif unbound.what in unbound.existing:
        hint = "it is a function or class: nothing can be imported from it"
    elif past is not None and past.now and _last(past.now) == _last(past.name):
        hint = f"{past.name} of {past.last} moved: it is {past.now}"
    elif past is not None and past.now:
        hint = f"{past.name} of {past.last} was renamed: it is {past.now}"
    elif past is not None and existing:
        hint = (
            f"{past.name} of {past.last} was removed before {past.without}; there is {existing}: "
            "compare what it does"
        )
    elif past is not None:
        hint = f"{past.name} of {past.last} was removed before {past.without}"
    elif existing:
        hint = f"there is {existing}: compare what it does"
    else:
        hint = "it was removed, moved, or never was public: see the notes of the releases"
    return Result(
        code=REFUSED if unbound.is_call else MISSING,
        severity=Severity.WARNING,
        message=unbound.why,
        span=unbound.span,
        hint=hint,
    )


def _last(name: str) -> str:
    return name.rpartition(".")[2]
