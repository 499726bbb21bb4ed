"""Comments that silence rules."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.rule import Rule

UNUSED = "CL990"


def codes(text: str, name: str = "a.py", options: Options | None = None) -> list[str]:
    source = Source(name, f"{text}\noptimizer = 1\n")
    return [finding.code for finding in lint_sources([source], options or Options())]


@pytest.mark.parametrize(
    "text",
    [
        "BAD = 1  # crosscast: ignore[CL001]",
        "BAD = 1  #crosscast:ignore[cl001]",
        "BAD = 1  # crosscast: ignore",
        "BAD = 1  # crosscast: ignore[CL0]",
        "BAD = 1  # crosscast: ignore[rule-cl001]",
        "BAD = 1  # noqa: F821  # crosscast: ignore[CL001] with a reason",
        "# crosscast: ignore[CL001]\nBAD = 1",
        "# crosscast: ignore[CL001]\n# more words\n\nBAD = 1",
        "f(\n    BAD,\n)  # crosscast: ignore[CL001]",
        "f(  # crosscast: ignore[CL001]\n    BAD,\n)",
        "x = '''\nBAD'''  # crosscast: ignore[CL001]",
        "# crosscast: ignore-file[CL001]\nx = 1\nBAD = 1",
        "x = 1\nBAD = 1\n# crosscast: ignore-file",
    ],
)
def test_silenced(bad: Rule, text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "BAD = 1  # crosscast: ignored",
        "BAD = 1  # crosscast: ignore[CL001",
        "BAD = 1  # ignore[CL001]",
        "BAD = '# crosscast: ignore[CL001]'",
        "BAD = 1\n# nothing here",
    ],
)
def test_not_silenced(bad: Rule, text: str) -> None:
    assert codes(text) == ["CL001"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 1  # crosscast: ignore[CL001]", [UNUSED]),
        ("x = 1  # crosscast: ignore", [UNUSED]),
        ("x = 1  # crosscast: ignore-file[CL001]", [UNUSED]),
        ("BAD = 1  # crosscast: ignore[CL001, CL002]", [UNUSED]),
        ("BAD = 1  # crosscast: ignore[CL7]", ["CL001", UNUSED]),
        ("BAD = 1  # crosscast: ignore[nonsense]", ["CL001", UNUSED]),
        ("BAD = 1\n# crosscast: ignore[CL001]", ["CL001", UNUSED]),
    ],
)
def test_useless_comments(bad: Rule, text: str, found: list[str]) -> None:
    assert codes(text) == found


@pytest.mark.parametrize(
    ("word", "hint"),
    [("CL001", "remove it"), ("rule-cl00l", "no rule 'rule-cl00l': did you mean rule-cl001?")],
)
def test_a_misspelt_word_is_told_from_an_unused_one(bad: Rule, word: str, hint: str) -> None:
    source = Source("a.py", f"x = 1  # crosscast: ignore[{word}]\noptimizer = 1\n")
    (found,) = lint_sources([source], Options())
    assert (found.code, found.hint) == (UNUSED, hint)


def test_of_rules_that_were_not_asked_nothing_is_known(bad: Rule) -> None:
    text = "x = 1  # crosscast: ignore[CL001]"
    assert codes(text, options=Options(codes=frozenset({UNUSED}))) == []
    assert codes(text, options=Options(ignored=frozenset({UNUSED}))) == []
    blanket = "x = 1  # crosscast: ignore"
    assert codes(blanket, options=Options(codes=frozenset({UNUSED, "CL001"}))) == []


@pytest.mark.parametrize("name", ["run.sh", "config.yaml"])
def test_other_languages(bad: Rule, name: str) -> None:
    assert codes("python BAD  # crosscast: ignore[CL001]", name) == []
    assert codes("# crosscast: ignore[CL001]\npython BAD", name) == []
    assert codes("python \\\n  BAD \\\n  x # crosscast: ignore[CL001]", name) == []
    assert codes("python 'BAD#crosscast: ignore[CL001]'", name) == ["CL001"]
    assert codes("python x  # crosscast: ignore[CL001]", name) == [UNUSED]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # crosscast: ignore[CL001]\n", "x = 1\n"),
        ("# crosscast: ignore[CL001]\nx = 1\n", "x = 1\n"),
        ("x = 1  # noqa  # crosscast: ignore\n", "x = 1  # noqa\n"),
        ("x = 1  # crosscast: ignore", "x = 1"),
        (
            "HOT = BAD  # crosscast: ignore[CL002, CL001]\n",
            "HOT = BAD  # crosscast: ignore[CL001]\n",
        ),
    ],
)
def test_useless_comments_are_removed(bad: Rule, before: str, after: str) -> None:
    head = "optimizer = 1\n"
    fixed = repair([Source("a.py", head + before)], lambda s: lint_sources(s))
    assert fixed.texts == {"a.py": head + after}
    assert fixed.results == []
