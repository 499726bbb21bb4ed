"""Rules take what they are given: other languages, and programs in forms that nobody expects."""

from __future__ import annotations

import ast

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Rule
from crosscast_reading.sources.subject_builder import subject_of
from tiers import cases

from .odd_forms import odd_forms

RULES = list(all_rules().values())
PYTHON = [rule for rule in RULES if rule.language == "python" and rule.name != "not-python-3"]
KINDS = (ast.Call, ast.Assign, ast.For, ast.If, ast.Constant)


def test_sources_without_python_have_no_modules() -> None:
    subject, failures = subject_of([Source("run.sh", "torchrun train.py --fp16\n")])
    assert (subject.program.modules, failures) == ((), [])
    for rule in RULES:
        assert list(rule.check(subject)) == [], rule.code


# All rules look at every program, so each meets odd forms of all examples.
@pytest.mark.parametrize("shift", cases((0, 1), quick=[0], reason="the other half of odd forms"))
@pytest.mark.parametrize("rule", PYTHON, ids=lambda rule: str(rule.code))
def test_odd_forms_of_an_example_are_no_failure(rule: Rule, shift: int) -> None:
    for number, kind in enumerate(KINDS, start=PYTHON.index(rule)):
        odd = odd_forms(rule.wrong, kind, (number + shift) % 2)
        beside = [Source(*each) for each in rule.beside]
        found = lint_sources([Source(rule.example_name, odd), *beside])
        assert [finding.message for finding in found if not finding.is_finding] == [], odd
