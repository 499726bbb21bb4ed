"""Migrations that are experimental: what they would change is named, and left unless asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast.targets.source_support import Era
from crosscast_migrate.codemod import Codemod
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.prefilter import has_word


def applied(codemods: Sequence[Codemod], *, experimental: bool) -> tuple[Codemod, ...]:
    """Return the codemods that change programs."""
    return tuple(each for each in codemods if experimental or not each.is_experimental)


def held_back(sources: Sequence[Source], codemods: Sequence[Codemod]) -> Iterator[Diagnostic]:
    """Yield a warning for every experimental era that finds something in programs, and failures.

    Args:
        sources: the programs.
        codemods: all codemods of an API.
    """
    held = [codemod for codemod in codemods if codemod.is_experimental]
    hints = tuple(hint for codemod in held for hint in codemod.hints)
    if not any(has_word(source.text, hints) for source in sources):
        return
    migration = migrate_in_place(sources, held)
    yield from migration.problems
    for era, own in _by_era(held, (*migration.changes, *migration.refusals)):
        places = "1 place is" if len(own) == 1 else f"{len(own)} places are"
        yield Diagnostic(
            code="CC981",
            severity=Severity.WARNING,
            message=f"{places} left unchanged, since the migration of {era.title} is "
            f"experimental: {era.yield_words}",
            span=own[0].span,
            hint="--experimental shows what it would change: read all of it",
        )


def experimental_words(migrated: InPlaceMigration, codemods: Sequence[Codemod]) -> list[str]:
    """Return a sentence for every experimental era that changed something."""
    return [
        f"the migration of {era.title} is experimental: {era.yield_words}"
        for era, _ in _by_era(codemods, migrated.changes)
        if era.is_experimental
    ]


def not_looked_at(codemods: Sequence[Codemod], results: Sequence[Result]) -> list[str]:
    """Return a sentence for each era with results about the parts that it does not look at."""
    return [era.not_looked_at for era, _ in _by_era(codemods, results) if era.not_looked_at]


def never_looked_at(codemods: Sequence[Codemod]) -> list[str]:
    """Return a sentence for each era of codemods about the parts that it does not look at."""
    eras = dict.fromkeys(codemod.era for codemod in codemods)
    return [era.not_looked_at for era in eras if era is not None and era.not_looked_at]


def _by_era(
    codemods: Sequence[Codemod], results: Sequence[Result]
) -> Iterator[tuple[Era, list[Result]]]:
    eras = {codemod.code: codemod.era for codemod in codemods}
    for era in dict.fromkeys(eras.values()):
        own = [result for result in results if eras.get(result.code) == era]
        if era is not None and own:
            yield era, own
