"""Nothing is said about training loops that are right, however they are written."""

from __future__ import annotations

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.registry import all_rules

from . import clean_loops, clean_special_loops

NOTED = {"counter of its own": ("CL118",), "schedules": ("CL118",)}
"""Notes that are right: windows that span two epochs, gradients kept."""
LOOPS = {**clean_loops.LOOPS, **clean_special_loops.LOOPS}


@pytest.mark.parametrize("name", LOOPS)
def test_nothing_is_found(name: str) -> None:
    found = lint_sources([Source("train.py", LOOPS[name])])
    rules = all_rules()
    noted = NOTED.get(name, ())
    messages = [
        f"{finding.code}:{finding.span.line if finding.span else 0} {finding.message}"
        for finding in found
        if not finding.is_finding or rules[finding.code].topic != "outdated"
        if finding.severity is not Severity.NOTE or finding.code not in noted
    ]
    assert messages == []
    assert set(noted) <= {diagnostic.code for diagnostic in found}


@pytest.mark.parametrize("name", LOOPS)
def test_they_are_programs_that_train(name: str) -> None:
    from crosscast_reading.sources.subject_builder import subject_of

    subject, failures = subject_of([Source("train.py", LOOPS[name])])
    assert failures == []
    assert subject.steps or "first_step" in LOOPS[name]
