"""Rules take what they are given: other languages, and programs in forms that nobody expects."""

from __future__ import annotations

import ast

import pytest

from crosscast.lint.engine import lint_sources
from crosscast.lint.registry import all_rules
from crosscast.lint.rule import Rule
from crosscast.messages.source import Source
from crosscast.sources.subject_builder import subject_of

from .odd_forms import odd_forms

RULES = list(all_rules().values())
PYTHON = [rule for rule in RULES if rule.language == "python" and rule.name != "not-python-3"]
KINDS = (ast.Call, ast.Assign, ast.For, ast.If, ast.Constant)


def test_sources_without_python_have_no_modules() -> None:
    subject, failures = subject_of([Source("run.sh", "torchrun train.py --fp16\n")])
    assert (subject.program.modules, failures) == ((), [])
    for rule in RULES:
        assert list(rule.check(subject)) == [], rule.code


@pytest.mark.parametrize("rule", PYTHON, ids=lambda rule: str(rule.code))
def test_odd_forms_of_an_example_are_no_failure(rule: Rule) -> None:
    for kind in KINDS:
        for shift in range(2):
            odd = odd_forms(rule.wrong, kind, shift)
            beside = [Source(*each) for each in rule.beside]
            found = lint_sources([Source(rule.example_name, odd), *beside])
            assert [finding.message for finding in found if not finding.is_finding] == [], odd
