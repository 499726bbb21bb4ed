"""Loops put together at random: lint names the mistakes that were put in, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from composed_loops import MISTAKES, Composed, composed
from crosscast.lint.engine import lint_sources
from crosscast.lint.registry import all_rules
from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from tiers import cases

QUICK = range(240)
"""So many that each mistake is made: see below."""


def programs(numbers: Iterable[int]) -> list[Composed]:
    return [composed(number, mistakes=number % 4) for number in numbers]


def serious(text: str) -> set[str]:
    found = lint_sources([Source("train.py", text)])
    assert [finding.message for finding in found if not finding.is_finding] == []
    rules = all_rules()
    return {
        finding.code
        for finding in found
        if finding.severity != Severity.NOTE and rules[finding.code].topic != "outdated"
    }


@pytest.mark.parametrize(
    "numbers",
    cases([QUICK, range(240, 6000)], quick=[QUICK], reason="more loops put together at random"),
)
def test_the_mistakes_that_were_made_are_found(numbers: range) -> None:
    for number, program in zip(numbers, programs(numbers), strict=True):
        assert serious(program.text) == program.codes, f"loop {number}:\n{program.text}"


def test_every_mistake_is_among_them() -> None:
    made = [name for program in programs(QUICK) for name in program.mistakes]
    assert {*made} == {*MISTAKES}
    assert sum(not program.mistakes for program in programs(QUICK)) > len(QUICK) / 8
