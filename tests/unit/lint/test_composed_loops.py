"""Loops put together at random: lint names the mistakes that were put in, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from composed_loops import FRAMEWORKS, MISTAKES, Composed, composed
from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules
from tiers import cases

QUICK = range(200)
"""So many that each mistake is made: see below."""


def programs(framework: str, numbers: Iterable[int]) -> list[Composed]:
    return [composed(framework, number, mistakes=number % 4) for number in numbers]


def serious(text: str) -> set[str]:
    """Return the codes of what is wrong; Paddle has a rule of its own for a missing scale."""
    found = lint_sources([Source("train.py", text)])
    assert [finding.message for finding in found if not finding.is_finding] == []
    rules = all_rules()
    codes = [
        "CL206" if finding.code == "CL804" else finding.code
        for finding in found
        if finding.severity != Severity.NOTE and rules[finding.code].topic != "outdated"
    ]
    assert codes.count("CL206") <= 1
    return {*codes}


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "numbers",
    cases([QUICK, range(200, 3000)], quick=[QUICK], reason="more loops put together at random"),
)
def test_the_mistakes_that_were_made_are_found(framework: str, numbers: range) -> None:
    for number, program in zip(numbers, programs(framework, numbers), strict=True):
        assert serious(program.text) == program.codes, f"loop {number}:\n{program.text}"


def test_every_mistake_is_among_them() -> None:
    every = [program for framework in FRAMEWORKS for program in programs(framework, QUICK)]
    assert {name for program in every for name in program.mistakes} == {*MISTAKES}
    assert sum(not program.mistakes for program in every) > len(every) / 8
