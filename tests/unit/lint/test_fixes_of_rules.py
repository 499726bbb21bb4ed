"""What `--fix` makes of every example that it can repair, however it is written."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Rule
from property_settings import examples

FIXABLE = [rule for rule in all_rules().values() if rule.fixable]


def dressed(text: str, *, inside: int, newline: str, comments: bool, head: str) -> str:
    """Return a Python program written in another way."""
    if comments:
        lines = text.split("\n")
        text = "\n".join(
            f"{line}  # é, {n}" if line.rstrip().endswith((")", ":")) and "#" not in line else line
            for n, line in enumerate(lines)
        )
    for level in range(inside):
        text = f"def part_{level}():\n" + textwrap.indent(text, "    ")
    return (head + text).replace("\n", newline)


@pytest.mark.parametrize("rule", FIXABLE, ids=lambda rule: str(rule.code))
@settings(max_examples=examples(12))
@given(
    inside=st.integers(0, 2),
    newline=st.sampled_from(["\n", "\r\n"]),
    comments=st.booleans(),
    head=st.sampled_from(["", "# ünï → ☃\n", "\n\n", "'''Text.'''\n"]),
)
def test_repairs_are_valid_and_final(
    rule: Rule, inside: int, newline: str, comments: bool, head: str
) -> None:
    python = rule.language == "python"
    text = rule.wrong
    if python:
        text = dressed(text, inside=inside, newline=newline, comments=comments, head=head)
    beside = [Source(name, other) for name, other in rule.beside]
    name = rule.example_name

    def repaired(now: str) -> str:
        fixed = repair([Source(name, now), *beside], lambda sources: lint_sources(list(sources)))
        assert fixed.problems == []
        return fixed.texts.get(name, now)

    once = repaired(text)
    assert repaired(once) == once
    if python:
        ast.parse(once)
        assert ("\r\n" in once) == (newline == "\r\n")
        assert "\n" not in once.replace("\r\n", "") or newline == "\n"
        assert once.count("é") >= text.count("é") - 1
    if not inside and not comments:
        assert once != text
        left = lint_sources([Source(name, once), *beside])
        assert not any(diagnostic.code == rule.code and diagnostic.edits for diagnostic in left)
