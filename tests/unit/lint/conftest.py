"""Rules that exist for one test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Rule
from crosscast_reading.sources.subject import Subject
from reading_helpers.lint_runs import find_bad, make_rule


@pytest.fixture
def add_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Rule]:
    """Return a function that adds a rule for one test."""

    def add(check: Callable[[Subject], Any], code: str = "CL001", **changes: Any) -> Rule:
        rule = make_rule(check, code, **changes)
        monkeypatch.setitem(all_rules(), code, rule)
        return rule

    return add


@pytest.fixture
def bad(add_rule: Callable[..., Rule]) -> Rule:
    """A rule that finds the word BAD, with a repair."""
    return add_rule(find_bad)
