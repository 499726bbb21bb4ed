"""Programs with all that lint and lift say of them, kept in Markdown files that a person can read.

A file holds cases. A case is a heading of the second level, some words, the files of a user as code
blocks whose info strings end in their names, and a block `text` with what is said:

    ## The counter is raised before the test

    ```python train.py
    ...
    ```

    ```text
    9 CL104 error: ...
    accumulation.steps = 4 | constant | 3, 9
    ```
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.result import Result, of_diagnostic
from vocabulary_check import check_once, check_words

_CASE = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Case:
    """Some files, and what was said of them."""

    title: str
    sources: tuple[Source, ...]
    said: str
    span: tuple[int, int]
    """Where `said` stands in the text of the file."""


def cases_of(path: Path) -> list[Case]:
    """Return the cases of a file."""
    text = path.read_text(encoding="utf-8")
    starts = [*_CASE.finditer(text)]
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [_case(text, start, end) for start, end in zip(starts, ends, strict=True)]


def _case(text: str, heading: re.Match[str], end: int) -> Case:
    sources: list[Source] = []
    said: re.Match[str] | None = None
    for block in _BLOCK.finditer(text, heading.end(), end):
        if block[2]:
            sources.append(Source(block[2], block[3]))
        else:
            assert said is None, f"{heading[1]}: two blocks without a name"
            said = block
    assert sources, f"{heading[1]}: no files"
    assert said is not None, f"{heading[1]}: no block says what is read"
    return Case(heading[1], tuple(sources), said[3], said.span(3))


def accept(path: Path, said: dict[str, str]) -> None:
    """Write what is said of cases, by title, into their file."""
    text = path.read_text(encoding="utf-8")
    for case in reversed(cases_of(path)):
        start, end = case.span
        text = text[:start] + said.get(case.title, case.said) + text[end:]
    path.write_text(text, encoding="utf-8")


def reading(sources: Sequence[Source]) -> str:
    """Return all findings, problems and facts about the files of a user, a line each."""
    alone = len(sources) == 1
    analysis = analyse(sources)
    profile = analysis.subject.profile
    check_words(list(profile))
    check_once(profile)
    lines = [_problem(each, alone=alone) for each in lint_sources(sources)]
    lines += [_problem(of_diagnostic(each), alone=alone) for each in analysis.diagnostics]
    facts = sorted(profile, key=lambda fact: (fact.field, fact.subject))
    lines += [_fact(fact, alone=alone) for fact in facts]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def _problem(problem: Result, *, alone: bool) -> str:
    place = "" if problem.span is None else f"{_place(problem.span, alone=alone)} "
    related = ", ".join(_place(span, alone=alone) for span in problem.related)
    beside = f" (with {related})" if related else ""
    hint = f"\n    hint: {problem.hint}" if problem.hint else ""
    return f"{place}{problem.code} {problem.severity}: {problem.message}{beside}{hint}"


def _fact(fact: Fact, *, alone: bool) -> str:
    name = f"{fact.field}[{fact.subject}]" if fact.subject else fact.field
    value = f"= {fact.value!r}" if fact.known else f"? {fact.expression or fact.reason}"
    how = ", ".join([fact.origin, *(() if fact.confidence == "certain" else (fact.confidence,))])
    if fact.known and fact.expression:
        how += f", {fact.expression}"
    places = ", ".join(_place(place, alone=alone) for place in fact.places)
    under = f" | if {' and '.join(fact.under)}" if fact.under else ""
    return f"{name} {value} | {how} | {places or fact.file}{under}"


def _place(span: Span, *, alone: bool) -> str:
    return str(span.line) if alone else f"{span.file}:{span.line}"
