"""Migration in place: apply codemods repeatedly until none has anything to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast_migrate.codemod import Change, Codemod, Outcome, Scope
from crosscast_migrate.interactive import Review
from crosscast_reading.lint.engine import distinct
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.result import Result, of_diagnostic
from crosscast_reading.pysource.syntax.notebook import is_notebook
from crosscast_reading.sources.failures import guarded
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.grouping import group, group_all
from crosscast_reading.sources.prefilter import has_word
from crosscast_reading.sources.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlaceMigration:
    """Result of a migration in place. No file has been written yet."""

    texts: dict[str, str]
    """Changed file to new text."""
    added: dict[str, str]
    """New file to text: modules that the changed programs import."""
    changes: tuple[Result, ...]
    """Applied changes, ordered by location in the texts before each round."""
    refusals: tuple[Result, ...]
    """Old APIs that remain because a person must decide."""
    problems: tuple[Diagnostic, ...]
    """Failures: errors in crosscast, and edits that would have broken a file."""


def migrate_in_place(
    sources: Sequence[Source],
    codemods: Sequence[Codemod],
    *,
    allowed: frozenset[str] = frozenset(),
    review: Review | None = None,
) -> InPlaceMigration:
    """Return sources with the codemods applied until none finds anything to change.

    Args:
        sources: programs with their modules, launch scripts and settings.
        codemods: the codemods to apply, see `crosscast_migrate.registry.codemods_to`.
        allowed: changes of meaning that may be made, see `crosscast_migrate.allowed_changes`.
        review: asks about every change; None makes all of them.
    """

    spoilt: set[str] = set()
    problems: list[Diagnostic] = []
    while True:
        fixed = repair(sources, partial(_run_codemods, codemods, spoilt, allowed, review))
        problems += fixed.problems
        if fixed.spoilt <= spoilt:
            break
        # Files that belong together are changed together or not at all.
        spoilt |= fixed.spoilt
    migrations = [result for result in fixed.results if result.code.startswith("CM")]
    others = [result.diagnostic() for result in fixed.results if not result.code.startswith("CM")]
    after = [Source(source.name, fixed.texts.get(source.name, source.text)) for source in sources]
    return InPlaceMigration(
        texts=fixed.texts,
        added=_added(codemods, after) if fixed.texts else {},
        changes=tuple(fixed.made),
        refusals=tuple(_not_applied(result) if result.edits else result for result in migrations),
        problems=(*problems, *others),
    )


def _added(codemods: Sequence[Codemod], sources: Sequence[Source]) -> dict[str, str]:
    return {path: text for codemod in codemods for path, text in codemod.beside(sources).items()}


def _run_codemods(
    codemods: Sequence[Codemod],
    spoilt: set[str],
    allowed: frozenset[str],
    review: Review | None,
    sources: Sequence[Source],
) -> list[Result]:
    codemod_results = distinct(
        result for scope in _GROUPS for result in _in_scope(scope, codemods, sources, allowed)
    )
    codemod_results = [
        result
        for result in codemod_results
        if not any(edit.file in spoilt for edit in result.edits)
    ]
    return codemod_results if review is None else review.decide(codemod_results, sources)


def _in_scope(
    scope: Scope,
    codemods: Sequence[Codemod],
    sources: Sequence[Source],
    allowed: frozenset[str],
) -> list[Result]:
    chosen = [codemod for codemod in codemods if codemod.scope == scope]
    if not chosen:
        return []
    results = [
        result
        for members in _GROUPS[scope](sources)
        if _concerns(chosen, members)
        for result in outcomes(members, chosen, allowed, sources)
    ]
    if scope == "connected":
        return results
    # A program may know what another one that shares a module does not: changes come first.
    return sorted(results, key=lambda result: not result.edits)


def _programs_and_rest(sources: Sequence[Source]) -> list[tuple[Source, ...]]:
    programs = group(sources)
    covered = {source.name for members in programs for source in members}
    rest = [s for s in sources if s.name not in covered and kind_of(s) == "python"]
    return [*programs, *((source,) for source in rest)]


_GROUPS: Mapping[Scope, Callable[[Sequence[Source]], list[tuple[Source, ...]]]] = {
    "connected": group_all,
    "every file": _programs_and_rest,
    "programs": group,
}


def _not_applied(result: Result) -> Result:
    """Return the refusal for a change that could not be applied."""
    return replace(
        result,
        severity=Severity.WARNING,
        message=f"not changed: {result.message}",
        hint="the change goes beyond one cell or into a magic; make it by hand"
        if is_notebook(result.file)
        else "it conflicts with another change; make it by hand",
        edits=(),
    )


def outcomes(
    sources: Sequence[Source],
    codemods: Sequence[Codemod],
    allowed: frozenset[str] = frozenset(),
    beside: Sequence[Source] = (),
) -> list[Result]:
    """Return the results of codemods for one group of sources; a failure affects only itself."""
    from crosscast_reading.sources.subject_builder import subject_of

    subject, failures = subject_of(sources)
    subject = replace(subject, allowed=allowed, beside=beside)
    results = [of_diagnostic(diagnostic) for diagnostic in failures]
    for codemod in codemods:
        if _concerns([codemod], sources):
            results += _apply(codemod, subject)
    return results


def _concerns(codemods: Sequence[Codemod], sources: Sequence[Source]) -> bool:
    return any(has_word(source.text, codemod.hints) for source in sources for codemod in codemods)


def _apply(codemod: Codemod, subject: Subject) -> list[Result]:
    failures: list[Diagnostic] = []
    main = subject.sources[0].name if subject.sources else ""
    what = f"codemod {codemod.code} {codemod.name} on {main}"
    work = partial(_results, codemod, subject)
    codemod_results = guarded(failures, what, subject.sources, work) or []
    return [*codemod_results, *map(of_diagnostic, failures)]


def _results(codemod: Codemod, subject: Subject) -> list[Result]:
    return [_result(codemod, outcome) for outcome in codemod.run(subject)]


def _result(codemod: Codemod, outcome: Outcome) -> Result:
    if isinstance(outcome, Change):
        return Result(
            code=codemod.code,
            name=codemod.name,
            severity=Severity.NOTE,
            message=outcome.message,
            span=outcome.span,
            hint=outcome.note,
            edits=outcome.edits,
        )
    return Result(
        code=codemod.code,
        name=codemod.name,
        severity=Severity.WARNING,
        message=outcome.message,
        span=outcome.span,
        hint=outcome.hint,
    )
