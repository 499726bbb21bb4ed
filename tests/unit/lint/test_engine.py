"""Asking rules: failures, hints, order, who is asked at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.registry import all_rules, expand, find_rule
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

AddRule = Callable[..., Rule]
TEXT = "optimizer = None\nBAD = 1\n"


def test_a_rule_that_fails_loses_nothing_of_the_others(bad: Rule, add_rule: AddRule) -> None:
    def broken(subject: Subject) -> Iterator[Finding]:
        yield Finding(span=Span("a.py", 1, 1), message="found before")
        raise KeyError("oops")

    add_rule(broken, "CL002")
    found = lint_sources([Source("a.py", TEXT)])
    assert {"CC950", "CL001", "CL002"} == {diagnostic.code for diagnostic in found}
    failure = next(diagnostic for diagnostic in found if diagnostic.code == "CC950")
    assert failure.severity is Severity.ERROR
    assert "CL002" in failure.message
    assert "KeyError" in failure.message
    assert "test_engine.py:" in failure.message


def test_a_reader_that_fails_loses_nothing_of_the_others(
    bad: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        name = "broken"
        hints = ()

        def read(self, program: object) -> Iterator[object]:
            raise RuntimeError("oops")

    monkeypatch.setattr(
        "crosscast_reading.sources.subject_builder.python_readers", lambda: (Broken(),)
    )
    codes = [finding.code for finding in lint_sources([Source("a.py", TEXT)])]
    assert codes == ["CC950", "CL001"]


def test_a_reader_that_does_not_load_is_a_diagnostic(
    bad: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Diagnostic(code="CC955", message="it does not load")
    monkeypatch.setattr(
        "crosscast_reading.sources.subject_builder.python_problems", lambda: (problem,)
    )
    codes = [finding.code for finding in lint_sources([Source("a.py", TEXT)])]
    assert codes == ["CC955", "CL001"]


def test_hints_and_training_decide_who_is_asked(add_rule: AddRule) -> None:
    calls: list[str] = []

    def note(name: str) -> Callable[[Subject], tuple[()]]:
        def check(subject: Subject) -> tuple[()]:
            calls.append(name)
            return ()

        return check

    add_rule(note("hint"), "CL002", hints=("not there",))
    add_rule(note("training"), "CL003", needs_training=True)
    add_rule(note("any"), "CL004", hints=("BAD", "not there"))
    lint_sources([Source("a.py", TEXT)])
    assert calls == ["any"]


def test_files_without_any_word_of_training_are_not_even_parsed(
    bad: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crosscast_reading.pysource.project.parse_source", None)
    assert lint_sources([Source("a.py", "BAD = 1\n")]) == []


def test_options_choose(bad: Rule) -> None:
    source = Source("pkg/a.py", TEXT)

    def codes(**options: object) -> list[str]:
        return [finding.code for finding in lint_sources([source], Options(**options))]  # type: ignore[arg-type]

    assert codes() == ["CL001"]
    assert codes(codes=frozenset({"CL002"})) == []
    assert codes(ignored=frozenset({"CL001"})) == []
    for pattern in ("pkg/*", "pkg", "a.py", "*.py", "./pkg/"):
        assert codes(per_file=((pattern, frozenset({"CL001"})),)) == [], pattern
    for pattern in ("kg/a.py", "b.py", "pk"):
        assert codes(per_file=((pattern, frozenset({"CL001"})),)) == ["CL001"], pattern


def test_results_are_in_order_and_each_once(add_rule: AddRule) -> None:
    def check(subject: Subject) -> Iterator[Finding]:
        for line, column in ((2, 1), (1, 5), (1, 2), (1, 2)):
            yield Finding(span=Span("a.py", line, column), message="m")

    add_rule(check)
    found = lint_sources([Source("a.py", TEXT)])
    assert [(o.span.line, o.span.column) for o in found if o.span] == [(1, 2), (1, 5), (2, 1)]


def test_words_for_rules(bad: Rule) -> None:
    assert expand(["CL001"], "x") == {"CL001"}
    assert expand(["cl00"], "x") == {"CL001"}
    assert expand([bad.name], "x") == {"CL001"}
    assert expand(["all"], "x") == set(all_rules())
    assert find_rule("cl001") is bad


def test_strange_sources_are_no_failures(bad: Rule) -> None:
    for text in ("", "\0 optimizer", "optimizer(" * 5000, "\ufeffoptimizer = 1", "optimizer = '"):
        for name in ("a.py", "a.sh", "a.json", "a.yaml", "a.ipynb", "a"):
            found = lint_sources([Source(name, text)])
            assert [finding for finding in found if not finding.is_finding] == [], (name, text[:20])
