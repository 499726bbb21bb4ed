"""Lint results of a program in short forms."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.result import Result


def code_lines(text: str, *, outdated: bool = False) -> list[str]:
    """Return code and line of every finding; those about outdated interfaces only if asked."""
    found = lint_sources([Source("train.py", text)])
    assert [finding.message for finding in found if not finding.is_finding] == []
    rules = all_rules()
    return [
        f"{diagnostic.code}:{diagnostic.span.line if diagnostic.span else 0}"
        for diagnostic in found
        if outdated or rules[diagnostic.code].topic != "outdated"
    ]


def codes(text: str) -> set[str]:
    """Return the codes of the findings."""
    return {word.partition(":")[0] for word in code_lines(text)}


def repaired(text: str, *wanted: str) -> str:
    """Return a program with the repairs of some rules made."""
    source = Source("train.py", text)

    def look(sources: Sequence[Source]) -> list[Result]:
        return [finding for finding in lint_sources(list(sources)) if finding.code in wanted]

    fixed = repair([source], look)
    assert fixed.problems == []
    return fixed.texts.get("train.py", text)


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """Return a text with parts exchanged, each of which must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text
