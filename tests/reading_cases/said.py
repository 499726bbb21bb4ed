"""What lint and lift say of the files of a user, and what a change of them changes there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.analysis import analyse_subject
from crosscast_reading.lint.engine import lint_subject
from crosscast_reading.lint.result import Result, of_diagnostic
from crosscast_reading.sources.prefilter import may_train
from crosscast_reading.sources.subject_builder import subject_of
from reading_helpers.vocabulary_check import check_once, check_words

from .changes import Lines

Place = Callable[[Span], str]


def reading(sources: Sequence[Source], *, facts: bool = True) -> str:
    """Return all findings about the files of a user, a line or two each.

    Args:
        sources: the files.
        facts: also return what lift says: problems, and a line for each fact.
    """
    place = _place_in(sources)
    lines = dict.fromkeys(_line(each, place) for each in _statements(tuple(sources), facts))
    return "".join(f"{line}\n" for line in lines)


def difference(
    before: Sequence[Source], after: Sequence[Source], lines: Lines, *, facts: bool = True
) -> str:
    """Return what is only said of changed files, and what is no longer said of them.

    Args:
        before: the files of a user.
        after: the same with a change.
        lines: where the lines that stay are after it.
        facts: see `reading`.
    """
    place = _place_in(after)

    def moved(span: Span) -> str:
        line = lines.get((span.file, span.line))
        return "gone" if line is None else place(Span(span.file, line, span.column))

    old = {_line(each, moved): each for each in _statements(tuple(before), facts)}
    new = {_line(each, place): each for each in _statements(tuple(after), facts)}
    come = {line: each for line, each in new.items() if line not in old}
    gone = [each for line, each in old.items() if line not in new]
    only = {name for name, number in Counter(map(_name, old.values())).items() if number == 1}
    changed = only & {_name(each) for each in come.values() if isinstance(each, Fact)}
    lost = [_short(each, _place_in(before)) for each in gone if _name(each) not in changed]
    last = [f"no longer {'; '.join(lost)}"] if lost else []
    return "".join(f"{line}\n" for line in (*come, *last))


@lru_cache(maxsize=8)
def _statements(sources: tuple[Source, ...], facts: bool) -> tuple[Result | Fact, ...]:
    subject, failures = subject_of(sources)
    trains = any(map(may_train, sources))
    found = tuple(lint_subject(subject, failures)) if trains else ()
    if not facts:
        return found
    analysis = analyse_subject(subject, failures)
    profile = analysis.subject.profile
    check_words(list(profile))
    check_once(profile)
    told = sorted(profile, key=lambda fact: (fact.field, fact.subject))
    return (*found, *map(of_diagnostic, analysis.diagnostics), *told)


def _place_in(sources: Sequence[Source]) -> Place:
    """Return how a place is written: a single file needs no name."""
    if len(sources) == 1:
        return lambda span: str(span.line)
    return lambda span: f"{span.file}:{span.line}"


def _line(each: Result | Fact, place: Place) -> str:
    return _problem(each, place) if isinstance(each, Result) else _fact(each, place)


def _problem(problem: Result, place: Place) -> str:
    related = ", ".join(map(place, problem.related))
    beside = f" (with {related})" if related else ""
    hint = f"\n    hint: {problem.hint}" if problem.hint else ""
    return f"{_short(problem, place)} {problem.severity}: {problem.message}{beside}{hint}"


def _fact(fact: Fact, place: Place) -> str:
    how = ", ".join([fact.origin, *(() if fact.confidence == "certain" else (fact.confidence,))])
    if fact.known and fact.expression:
        how += f", {fact.expression}"
    places = ", ".join(map(place, fact.places))
    under = f" | if {' and '.join(fact.under)}" if fact.under else ""
    return f"{_short(fact, place)} | {how} | {places or fact.file}{under}"


def _name(each: Result | Fact) -> str:
    """Return a code, or a field and the object whose it is."""
    if isinstance(each, Result):
        return each.code
    return f"{each.field}[{each.subject}]" if each.subject else each.field


def _short(each: Result | Fact, place: Place) -> str:
    """Return a code with its place, or a field with its value."""
    if isinstance(each, Fact):
        value = f"= {each.value!r}" if each.known else f"? {each.expression or each.reason}"
        return f"{_name(each)} {value}"
    return each.code if each.span is None else f"{place(each.span)} {each.code}"
