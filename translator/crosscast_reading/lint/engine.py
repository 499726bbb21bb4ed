"""Apply the rules to a group of sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.lint.ignores import apply_ignores
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.registry import rule_problems
from crosscast_reading.lint.result import Result, of_diagnostic, of_finding, order
from crosscast_reading.lint.rule import Rule
from crosscast_reading.pysource.syntax.notebook import is_notebook
from crosscast_reading.sources.failures import guarded
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.prefilter import has_word, may_train
from crosscast_reading.sources.subject import Subject

EVERYTHING = Options()
UNFOLLOWED = "CC957"
"""Reported once a file: what could not be followed."""


def lint_sources(sources: Sequence[Source], options: Options = EVERYTHING) -> list[Result]:
    """Return the results for a group of sources, ordered by location.

    Args:
        sources: a program with its modules, main file first, its launch scripts and settings.
        options: the rules to apply.

    Returns:
        Findings, and diagnostics (CC95x) for parts of crosscast that failed; the other rules still
        apply.

    Files that are a whole program of their own, of which the main file's uses nothing, are judged
    apart: what they do or name decides nothing of it.
    """
    if not any(may_train(source) for source in sources):
        return []
    from crosscast_reading.sources.connected import programs_beside
    from crosscast_reading.sources.subject_builder import subject_of

    subject, failures = subject_of(sources, options.versions)
    groups = [
        [module.source.name for module in group]
        for group in programs_beside(subject.program, subject.steps)
    ]
    if not groups:
        return lint_subject(subject, failures, options)
    others = {name for names in groups for name in names}
    shared = {source.name for source in sources if kind_of(source) != "python"}
    programs = [
        # Empty, not left out: a file that is imported and not here might do anything.
        [Source(s.name, "") if s.name in others else s for s in sources],
        *([s for s in sources if s.name in shared.union(names)] for names in groups),
    ]
    results = [
        lint_subject(*subject_of(program, options.versions), options) for program in programs
    ]
    return distinct(result for group in results for result in group)


def lint_subject(
    subject: Subject, failures: Sequence[Diagnostic], options: Options = EVERYTHING
) -> list[Result]:
    """Return the results for sources that were read, as `lint_sources` does.

    Args:
        subject: what was read.
        failures: what failed while it was read.
        options: the rules to apply.
    """
    from crosscast_reading.readers.python.library_calls import uses

    sources = subject.sources
    rules = options.rules()
    results = [of_diagnostic(failure) for failure in (*failures, *rule_problems())]
    trains, paddle = subject.trains, uses(subject.program, "paddle")
    for rule in rules:
        if (trains or not rule.needs_training) and (paddle or rule.topic != "paddle"):
            results += _apply(rule, subject)
    results = _without_replaced(results, rules)
    results = apply_ignores(sources, results, frozenset(rule.code for rule in rules))
    if options.verbose:
        from crosscast_reading.lint.unfollowed import unfollowed

        failed: list[Diagnostic] = []
        what = "naming what was not followed"
        notes = guarded(failed, what, sources, lambda: [*unfollowed(subject)]) or ()
        results += map(of_diagnostic, (*failed, *notes))
    return distinct(
        _repairable(result) for result in results if not options.silent(result.file, result.code)
    )


def _repairable(result: Result) -> Result:
    """Return a result without its edits in notebooks, whose locations refer to cells."""
    if result.edits and is_notebook(result.file):
        return replace(result, edits=())
    return result


def distinct(results: Iterable[Result]) -> list[Result]:
    """Return results ordered by location, without duplicates from modules of several programs."""
    results_by_place: dict[tuple[object, ...], Result] = {}
    for result in results:
        results_by_place.setdefault((result.code, _place(result)), result)
    return sorted(results_by_place.values(), key=order)


def _place(result: Result) -> object:
    """Return the place that is reported once: a location, a file, or a message without either."""
    if result.span is None:
        return result.message
    if result.code == UNFOLLOWED:
        return result.span.file
    place = (result.span.file, result.span.line, result.span.column)
    return place if result.is_finding else (*place, result.message)


def _mentions(subject: Subject, hints: tuple[str, ...]) -> bool:
    """Whether a source has one of the words that a check needs; it may need none."""
    return not hints or any(has_word(source.text, hints) for source in subject.sources)


def _without_replaced(results: Sequence[Result], rules: Sequence[Rule]) -> list[Result]:
    """Return results without those of general rules where a rule says the same more precisely."""
    replaced = {
        (code, result.span)
        for rule in rules
        if rule.replaces
        for result in results
        if result.code == rule.code
        for code in rule.replaces
    }
    return [result for result in results if (result.code, result.span) not in replaced]


def _apply(rule: Rule, subject: Subject) -> list[Result]:
    """Return the findings of a rule, also those before its failure."""
    forms = [(form.check, form.hints or rule.hints) for form in rule.forms]
    parts = [(rule.check, rule.hints), *forms]
    checks = [part for part, hints in parts if _mentions(subject, hints)]
    if not checks:
        return []
    findings: list[Result] = []
    failures: list[Diagnostic] = []

    def check() -> None:
        for part in checks:
            for finding in part(subject):
                findings.append(of_finding(rule, finding))

    main = subject.sources[0].name if subject.sources else ""
    guarded(failures, f"rule {rule.code} {rule.name} on {main}", subject.sources, check)
    return [*findings, *map(of_diagnostic, failures)]
